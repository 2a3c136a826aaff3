"""Judging a trace: rules run, claimed time is allocated, findings are made and ranked."""
