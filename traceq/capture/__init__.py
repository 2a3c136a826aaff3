"""Capture: getting a trace of a training program that has what the analyses need."""
