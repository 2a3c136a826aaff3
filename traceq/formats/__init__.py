"""What each format of trace can hold, and how its profiler is asked for it."""
