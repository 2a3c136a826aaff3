"""The history of reports: what remains of each, how it moved over time, since when, and what else changed then."""
