"""Communication: process groups and their axes of parallelism; collectives in SQL."""
