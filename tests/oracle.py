"""Steps, device activity and the ledger of docs/metrics.md, computed the slow way: one nanosecond at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Slice = tuple[str, int, int]
"""Activity, ts, dur."""

# The ledger gives each instant to the first of these that runs; a graph counts as compute.
_ORDER = ("compute", "graph", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset")


def category_at(slices: Sequence[Slice], instant: int) -> str:
    running = {activity for activity, ts, dur in slices if ts <= instant < ts + dur}
    first = next((activity for activity in _ORDER if activity in running), "idle")
    return "compute" if first == "graph" else first


def ledger(slices: Sequence[Slice], steps: Sequence[tuple[int, int]]) -> dict[tuple[int, str], int]:
    """(step, category) -> ns, for steps given as (ts, end)."""
    total: Counter[tuple[int, str]] = Counter()
    for step, (ts, end) in enumerate(steps):
        for instant in range(ts, end):
            total[step, category_at(slices, instant)] += 1
    return dict(total)


def running_at(slices: Sequence[Slice], activity: str, instant: int) -> int:
    return sum(a == activity and ts <= instant < ts + dur for a, ts, dur in slices)
