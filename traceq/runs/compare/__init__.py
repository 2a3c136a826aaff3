"""Two runs, one verdict: what changed, how sure that is, and what it is made of."""
