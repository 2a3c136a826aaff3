"""Capabilities of each trace format, and the options of its profiler that record it."""
