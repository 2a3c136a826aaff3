"""What several ranks suffer from together: the rules that judge a job by its tables."""
