"""What several rules have in common: queries they share, and words."""
