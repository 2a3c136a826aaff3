"""Measuring traceq on labelled traces: what it says is frozen first, and graded once labels are there."""
