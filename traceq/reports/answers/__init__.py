"""What agents are answered: a text and plain data, together within a number of characters."""
