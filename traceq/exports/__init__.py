"""A trace database as a file for other tools: a Chrome trace with what traceq found in it beside the slices."""
