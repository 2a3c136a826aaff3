"""Predictions of another limit of batched tokens: the cost of a server's steps, and its requests scheduled anew."""
