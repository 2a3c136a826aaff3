"""Answers to agents: a text and plain data, together within a number of characters."""
