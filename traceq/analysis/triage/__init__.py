"""The kind of a capture, found before anything in it is judged."""
