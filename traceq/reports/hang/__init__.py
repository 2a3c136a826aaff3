"""The page on a hanging job."""
