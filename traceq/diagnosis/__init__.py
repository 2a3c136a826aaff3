"""Judging a trace: rules are asked, claimed time is allocated, findings are made and ranked."""
