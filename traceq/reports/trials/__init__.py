"""The reports of traceq experiment and traceq tradeoff."""
