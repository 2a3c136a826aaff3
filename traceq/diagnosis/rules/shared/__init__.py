"""Queries and words that several rules share."""
