"""Knobs that `traceq experiment` turns inside a program that it does not edit: one topic a file, listed in registry.py."""
