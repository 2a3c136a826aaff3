"""The report of traceq goodput."""
