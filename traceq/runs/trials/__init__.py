"""Experiments: a program run at several settings, what each wins, and what was predicted of it."""
