"""Traces of which it is known what is wrong with them: a few lines for each rule, simulated loops, real ones."""
