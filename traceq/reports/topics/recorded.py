"""Records of collectives that were given with a trace, and whether the traced collectives are usual by them."""

from __future__ import annotations

import msgspec


class RecordFacts(msgspec.Struct, frozen=True):
    """The records in numbers: `is_own_known` is whether one of their processes is known to be the trace's.

    `slow_links` is the number of places that explain slow links, `lasted_ns` the time from the first record to the last (None
    when they do not say).
    """

    processes: int
    records: int
    is_own_known: bool
    slow_links: int
    links: int
    lasted_ns: int | None


class UsualCollective(msgspec.Struct, frozen=True):
    """One operation, size and group of the trace against the records: a row of inspected_usual. Times in ns, GB/s."""

    op: str
    bytes: int
    group_size: int | None
    count: int
    traced_ns: int
    median_ns: float
    bus_gb_per_s: float | None
    records: int
    compared_with: str
    windows: int
    usual_low_ns: float | None
    usual_ns: float | None
    usual_high_ns: float | None
    faster_share: float | None
    usual_gb_per_s: float | None
    within: int | None
    paired: int
    paired_ratio: float | None
