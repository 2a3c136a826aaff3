"""Input: fetching, loading and transforming batches."""
