"""Runs at several values of a knob: what a step costs at each, where more stops paying, and what limits it."""
