"""The whole run, as training logs tell it: its steps, and where they changed."""
