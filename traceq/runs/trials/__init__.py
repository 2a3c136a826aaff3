"""Trials of a program: experiments at several settings, and trade-offs over given traces at several values of a knob."""
