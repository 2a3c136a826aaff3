"""The report of traceq tradeoff."""
