"""Stalls: host threads that stood still in calls that take no time by themselves."""
