"""What a capture is, before anything in it is judged."""
