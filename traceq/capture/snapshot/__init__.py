"""Snapshot of what a run was made with, taken in its own process once its trace is written: topics of formats/made_with.py."""
