from __future__ import annotations

import pytest

from traceq.runs import statistics


@pytest.fixture
def fewer_draws(monkeypatch):
    """As many as it takes for a p of 0.01 and the ends of a 99 % interval; more of them only steady both."""
    monkeypatch.setattr(statistics, "_PERMUTATIONS", 1_999)
    monkeypatch.setattr(statistics, "_MOST_RESAMPLES", 2_000)
