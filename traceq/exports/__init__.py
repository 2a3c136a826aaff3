"""A trace database as a file for other tools: a Chrome trace with the findings beside the slices, call paths, or tables."""
