"""What an independent reading of a trace file holds: plain rows, nothing taken from traceq.

Times are integer nanoseconds on the file's own clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

Interval = tuple[int, int]


class HostSlice(NamedTuple):
    """A row expected in cpu_slice; `thread` is (pid, tid), None where the file has text only."""

    kind: str
    category: str | None
    name: str
    ts: int
    dur: int
    thread: tuple[int | None, int | None]
    correlation: int | None


class DeviceSlice(NamedTuple):
    """A row expected in gpu_slice; `grid` and `block` are None for copies and memsets."""

    kind: str
    name: str
    ts: int
    dur: int
    device: int
    stream: int | None
    correlation: int | None
    bytes: int | None
    grid: tuple[int, ...] | None
    block: tuple[int, ...] | None


class RawTrace(NamedTuple):
    """All rows of one file by the table that has to hold them.

    `other` counts the rows of the smaller tables, `unstored` what no table holds; `machine` are names that must not
    get out; `place` is rank and world size.
    """

    host: list[HostSlice]
    device: list[DeviceSlice]
    other: Counter[str]
    unstored: Counter[str]
    utc_origin: int | None
    machine: set[str]
    place: tuple[int | None, int | None] = (None, None)


def tally_rows(rows: Iterable[HostSlice | DeviceSlice], key: Callable[..., Hashable]) -> dict[Hashable, Interval]:
    """Count rows and sum their duration under each key."""
    found: dict[Hashable, Interval] = {}
    for row in rows:
        count, total = found.get(key(row), (0, 0))
        found[key(row)] = (count + 1, total + row.dur)
    return found


def find_extent(rows: Iterable[HostSlice | DeviceSlice]) -> dict[str, Interval]:
    """Return first start and last end of each kind."""
    found: dict[str, Interval] = {}
    for row in rows:
        first, last = found.get(row.kind, (row.ts, row.ts + row.dur))
        found[row.kind] = (min(first, row.ts), max(last, row.ts + row.dur))
    return found


def merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    """The union of half-open (start, end) intervals as disjoint ones in order; touching ones become one."""
    union: list[Interval] = []
    for start, end in sorted(intervals):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union


def measure_union(intervals: Iterable[Interval]) -> int:
    """Return the length of the union of the intervals."""
    return sum(end - start for start, end in merge_intervals(intervals))


def list_intervals(rows: Iterable[DeviceSlice]) -> list[Interval]:
    return [(row.ts, row.ts + row.dur) for row in rows]
