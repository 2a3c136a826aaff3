"""Operators of a trace as programs that run without the model."""
