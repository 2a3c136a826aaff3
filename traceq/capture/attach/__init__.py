"""Ask a program that already runs for a trace, or for its stacks: what it runs as decides whom to ask."""
