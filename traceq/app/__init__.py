"""The use cases of traceq, each once: the command line and Python call the same functions."""
