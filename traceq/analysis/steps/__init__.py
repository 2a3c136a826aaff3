"""The steps of a trace, and what is counted per step."""
