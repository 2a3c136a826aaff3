"""The reports of traceq compare, verify and baseline."""
