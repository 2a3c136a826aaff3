"""Ranks as one job: who is late, and what it costs everybody. Definitions: docs/metrics.md, section Jobs."""
