"""The report of traceq compile-log."""
