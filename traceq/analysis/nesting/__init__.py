"""The host slices of a thread, nested: parents, depth, time of their own."""
