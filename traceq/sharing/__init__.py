"""Traces for others: a part of one, and one that names nobody. Both are made of the file's own records, not of the database."""
