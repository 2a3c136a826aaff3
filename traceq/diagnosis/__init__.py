"""Judging a trace: rules are asked, their claims are served, and findings drawn up and ranked."""
