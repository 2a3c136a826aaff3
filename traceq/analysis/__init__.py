"""Analyses that SQL cannot say well: nesting of host slices, and the choice among ways to find steps."""
