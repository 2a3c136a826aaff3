"""The cases of each rule, in a module of its name: `found`, `clean` and, where it can lack input, `cannot_tell`.

Each adds to a TraceBuilder what the rule finds, finds nothing in, or cannot judge. `found` may be a generator of
several variants, as may the others: functions whose names begin with these words.
"""
