"""What each format of trace can hold, and the options of its profiler that record it."""
