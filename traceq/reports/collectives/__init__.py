"""The report on records of collectives, without a trace: bandwidth by size and group, over time, slow links, late ranks."""
