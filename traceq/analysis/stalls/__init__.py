"""Where host threads stood still in calls that take no time by themselves."""
