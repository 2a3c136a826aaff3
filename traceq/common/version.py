"""The version of traceq."""

__version__ = "0.1.0"
