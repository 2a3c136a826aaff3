"""A run as two runs are compared by: what is left of a trace when it is gone. A baseline is a file of such runs."""
