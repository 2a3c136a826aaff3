"""Rules that judge the ranks of a job together, by its tables."""
