"""How right a report is: a label of what is true of a trace, beside what was said of it."""
