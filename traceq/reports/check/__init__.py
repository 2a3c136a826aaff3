"""The report of traceq check."""
