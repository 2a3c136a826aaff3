"""The answer of traceq whatif."""
