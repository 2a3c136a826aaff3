"""The cost of the profiler on the two sides of a comparison, if it differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from traceq.common.units import share

if TYPE_CHECKING:
    from traceq.runs.run import Run

_SAME = 0.05  # of a step; smaller differences are within what an overhead can be measured to
_OF_CHANGE = 0.25  # a change at least four times as large is one without the profiler, too


class Profiling(NamedTuple):
    """The profiler's extra cost per step on the new side, ns (negative: less than on the base), and a sentence on it."""

    more_ns: int
    told: str


def compare_profiling(base: Sequence[Run], new: Sequence[Run]) -> Profiling | None:
    """Return the difference in the profiler's cost; None if it is at most 5 % of a step, or not measured on both sides."""
    # Imported on use: with it comes numpy, and a report of one trace asks for a sentence of this module only.
    from traceq.runs.compare.side import step_ns

    # A profiler makes no step shorter: where it seems so the steps of the run differed for other reasons.
    sides = [[max(run.overhead_share, 0) for run in runs if run.overhead_share is not None] for runs in (base, new)]
    if not all(sides):
        return None
    before, after = (sum(side) / len(side) for side in sides)
    if abs(after - before) <= _SAME:
        return None
    cost = [
        float(step_ns(runs, "mean")) * each / (1 + each)
        for runs, each in zip((base, new), (before, after), strict=True)
    ]
    return Profiling(round(cost[1] - cost[0]), f"profiler overhead: {share(before)} of a step against {share(after)}")


def explain_unmeasured(loader_queue: int) -> str:
    """Return a sentence on why the profiler's cost is unknown and how to record to measure it; `loader_queue` is in batches."""
    # As trace.sql asks for; the first steps are not measured.
    skip = 4 * loader_queue + 2
    return (
        "profiler overhead is not known: the steps without the profiler may have used batches that a loader had queued "
        f"({loader_queue}); record with --skip {skip} or more"
    )


def may_explain(profiling: Profiling, base: Sequence[Run], new: Sequence[Run]) -> bool:
    """Return whether the difference in the profiler's cost is more than a quarter of the change of the mean step."""
    from traceq.runs.compare.side import step_ns

    return abs(profiling.more_ns) > _OF_CHANGE * abs(step_ns(new, "mean") - step_ns(base, "mean"))
