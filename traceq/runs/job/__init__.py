"""Jobs as sides of a comparison: what is kept of one, and what changed from one to another."""
