"""Words that all reports on differences share: what something took on both sides, and what a run was captured with."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import change, count, duration, maybe, per_cent
from traceq.reports.document import Name, Spans
from traceq.runs.compare.comparison import Cause, Change, NamedCause, Part, Row
from traceq.runs.compare.match import PAGEABLE
from traceq.runs.run import Run


def both_sides(*changed: Cause | Change | Part | Row) -> tuple[str, str, str]:
    """What they take together on the base and on the new side, and the difference: cells of a table."""
    base, new, delta = (sum(getattr(each, name) for each in changed) for name in ("base_ns", "new_ns", "delta_ns"))
    return duration(base), duration(new), change(delta)


def interval(each: Cause | Change | NamedCause) -> str:
    """What holds the true difference; a dash where that cannot be known."""
    return "-" if each.interval_ns is None else " to ".join(map(change, each.interval_ns))


def confidence(level: float) -> str:
    """How sure an interval is at this level: 98 %."""
    return per_cent(1 - level)


def describe_same_copy(part: Part) -> str:
    """Say what became of a copy whose memory on the host is other than it was."""
    was_pageable = (part.base_shape or "").endswith(PAGEABLE)
    return f"the same copy, {'pinned' if was_pageable else 'pageable'} memory now"


def captured(run: Run) -> Iterator[tuple[str, Spans]]:
    """The facts about what recorded the run."""
    yield "profiler", (Name(" ".join(filter(None, (run.producer or run.format, run.producer_version)))),)
    if run.rank is not None or run.world_size is not None:
        yield "rank", (f"{maybe(count, run.rank)} of {maybe(count, run.world_size)}",)
