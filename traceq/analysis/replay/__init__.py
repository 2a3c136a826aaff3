"""Steps executed again without a cause of waiting: what a fix would save."""
