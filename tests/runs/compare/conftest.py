from __future__ import annotations

import pytest

from traceq.comparisons import statistics


@pytest.fixture
def fewer_draws(monkeypatch):
    """As many as it takes for a p of 0.01 and the ends of a 99 % interval; more of them only steady both."""
    monkeypatch.setattr(statistics, "_DEALS", 1_999)
    monkeypatch.setattr(statistics, "_MOST_DRAWS", 2_000)
