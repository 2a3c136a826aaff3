"""The report of traceq experiment."""
