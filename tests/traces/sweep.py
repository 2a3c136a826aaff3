"""Device activity and the ledger of docs/metrics.md, worked out a second time: plain Python over the rows of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from raw_slices import DeviceSlice, Interval

# Each instant belongs to the first of these that runs.
PRIORITY = ("compute", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset")


class Change(NamedTuple):
    at: int
    category: str
    by: int


def categorize_slice(row: DeviceSlice, *, is_communication: bool) -> str:
    """Return what a device slice counts as; migrations of unified memory are copies of a kind of their own."""
    if is_communication:
        return "communication"
    if row.kind == "memcpy" and "Unified" in row.name:
        return "copy_other"
    if row.kind == "memcpy":
        return {"HtoD": "copy_h2d", "DtoH": "copy_d2h"}.get(row.name.split()[1], "copy_other")
    return "memset" if row.kind == "memset" else "compute"


def sweep_ledger(slices: Iterable[tuple[DeviceSlice, str]], window: Interval) -> dict[str, int]:
    """Nanoseconds of the window per category, idle among them; categories without any are left out."""
    changes = sorted(change for row, name in slices for change in _clip_slice(row, name, window))
    running: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    before = window[0]
    for change in changes:
        spent[_first_running(running)] += change.at - before
        running[change.category] += change.by
        before = change.at
    spent[_first_running(running)] += window[1] - before
    return {name: time for name, time in spent.items() if time}


def _clip_slice(row: DeviceSlice, name: str, window: Interval) -> list[Change]:
    start, end = max(row.ts, window[0]), min(row.ts + row.dur, window[1])
    return [Change(start, name, 1), Change(end, name, -1)] if start < end else []


def _first_running(running: Counter[str]) -> str:
    return next((name for name in PRIORITY if running[name]), "idle")
