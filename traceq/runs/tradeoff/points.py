"""What was measured at each value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from traceq.runs.compare.side import durations
from traceq.runs.compare.statistics import Floats
from traceq.runs.run import Run
from traceq.runs.tradeoff.resample import resamples_of, typical
from traceq.runs.tradeoff.tradeoff import Interval, Point, Setting, Taken
from traceq.runs.tradeoff.values import work_of

NS_PER_S = 1_000_000_000
LEVEL = 0.05


def points_of(taken: Sequence[Taken], setting: Setting) -> tuple[list[Point], list[Floats | None], bool]:
    """The point of each value, in order; the resamples of its typical step; whether these hold the scatter between runs."""
    ordered = sorted(taken, key=lambda each: each.value or 0.0)
    groups = [list(group) for _, group in groupby(ordered, key=lambda each: each.value)]
    sides = [[durations(each.run) for each in group] for group in groups]
    resamples, between = resamples_of(sides)
    points = [
        _point(group, runs, resampled, setting) for group, runs, resampled in zip(groups, sides, resamples, strict=True)
    ]
    return points, resamples, between


def _point(group: Sequence[Taken], runs: Sequence[Floats], resampled: Floats | None, setting: Setting) -> Point:
    usual = sum(map(typical, runs)) / len(runs)
    # As table step_stats has them.
    p50, p95, p99 = (float(each) for each in np.quantile(np.concatenate(runs), [0.5, 0.95, 0.99]))
    interval = None if resampled is None else _interval(resampled)
    work = sum(work_of(each, setting.knob, setting.work) for each in group) / len(group)
    return Point(
        value=group[0].value,
        runs=tuple(each.run for each in group),
        steps=sum(map(len, runs)),
        excluded=sum(len(each.run.steps) - len(each.run.counted) for each in group),
        typical_ns=usual,
        typical_interval_ns=interval,
        p50_ns=p50,
        p95_ns=p95,
        p99_ns=p99,
        work=work,
        throughput=_rate(work, usual),
        throughput_interval=None if interval is None else (_rate(work, interval[1]), _rate(work, interval[0])),
        ledger=_ledger([each.run for each in group]),
    )


def _interval(resampled: Floats) -> Interval:
    low, high = np.quantile(resampled, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def _rate(work: float, nanoseconds: float) -> float:
    return work * NS_PER_S / nanoseconds if nanoseconds > 0 else 0.0


def _ledger(runs: Sequence[Run]) -> dict[str, float]:
    """Mean over the runs of what their typical steps are made of; nothing when one has a step without a ledger."""
    if any(not step.ledger for run in runs for step in run.typical):
        return {}
    total: dict[str, float] = {}
    for run in runs:
        for step in run.typical:
            for category, dur in step.ledger.items():
                total[category] = total.get(category, 0.0) + dur / len(run.typical) / len(runs)
    return dict(sorted(total.items()))
