"""Measurements at each value of a knob, and how far typical steps scatter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import sqrt

import numpy as np

from traceq.common.distributions import LEVEL
from traceq.runs.compare.side import step_durations
from traceq.runs.run import Run
from traceq.runs.statistics import Floats, dependence_factor, resample, typical_step
from traceq.runs.trials.tradeoff import Interval, Point, Taken, TradeoffTerms
from traceq.runs.trials.values import work_of

NS_PER_S = 1_000_000_000


def points_of(taken: Sequence[Taken], setting: TradeoffTerms) -> tuple[list[Point], list[Floats | None], bool]:
    """Return a point for each value in ascending order, and resamples of its typical step, ns (None with too few steps).

    The third result says whether the resamples include the scatter between runs.
    """
    ordered = sorted(taken, key=lambda each: each.value or 0.0)
    groups = [list(group) for _, group in groupby(ordered, key=lambda each: each.value)]
    sides = [[step_durations(member.run) for member in group] for group in groups]
    resamples, between = resamples_of(sides)
    points = [
        _measure_point(group, runs, resampled, setting)
        for group, runs, resampled in zip(groups, sides, resamples, strict=True)
    ]
    return points, resamples, between


def _measure_point(
    group: Sequence[Taken], runs: Sequence[Floats], resampled: Floats | None, setting: TradeoffTerms
) -> Point:
    """Return the measurements at one value: `runs` are the counted durations of the group's runs, ns.

    `resampled` are resampled typical steps, from which the intervals come; None without.
    """
    usual = sum(map(typical_step, runs)) / len(runs)
    # As table step_stats has them.
    p50, p95, p99 = (float(each) for each in np.quantile(np.concatenate(runs), [0.5, 0.95, 0.99]))
    interval = None if resampled is None else _interval_of(resampled)
    work = sum(work_of(member, setting.knob, setting.work) for member in group) / len(group)
    return Point(
        value=group[0].value,
        runs=tuple(member.run for member in group),
        steps=sum(map(len, runs)),
        excluded=sum(len(member.run.steps) - len(member.run.counted) for member in group),
        typical_ns=usual,
        typical_interval_ns=interval,
        p50_ns=p50,
        p95_ns=p95,
        p99_ns=p99,
        work=work,
        throughput=_work_per_second(work, usual),
        throughput_interval=None
        if interval is None
        else (_work_per_second(work, interval[1]), _work_per_second(work, interval[0])),
        ledger=_mean_ledger([member.run for member in group]),
    )


def _interval_of(resampled: Floats) -> Interval:
    """Return the 95 % interval of the resampled values: their 2.5th and 97.5th percentiles."""
    low, high = np.quantile(resampled, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def _work_per_second(work: float, nanoseconds: float) -> float:
    """Return the work per second of steps of that many nanoseconds; 0 for a step of no length."""
    return work * NS_PER_S / nanoseconds if nanoseconds > 0 else 0.0


def _mean_ledger(runs: Sequence[Run]) -> dict[str, float]:
    """Return the mean ledger of the runs' typical steps, ns by category; empty when a step has no ledger."""
    if any(not step.ledger for run in runs for step in run.typical):
        return {}
    total: dict[str, float] = {}
    for run in runs:
        for step in run.typical:
            for category, dur in step.ledger.items():
                total[category] = total.get(category, 0.0) + dur / len(run.typical) / len(runs)
    return dict(sorted(total.items()))


MOST_RESAMPLES = 2_000
_CELLS = 4_000_000
_LEAST_RESAMPLES = 500
_SEED = 20_251


def resamples_of(groups: Sequence[Sequence[Floats]]) -> tuple[list[Floats | None], bool]:
    """Return for each value resamples of its typical step, ns, and whether they include the scatter between runs.

    `groups` holds for each value the counted durations of its runs. Resamples are None when a run has too few steps.
    The scatter between runs (relative, pooled over all values) is included if any value has several runs.
    """
    random = np.random.default_rng(_SEED)
    longest = max((len(run) for group in groups for run in group), default=1)
    count = int(np.clip(_CELLS // max(longest, 1), _LEAST_RESAMPLES, MOST_RESAMPLES))
    resampled = [_resample_runs(group, count, random) for group in groups]
    freedom = sum(len(group) - 1 for group in groups)
    if not freedom:
        return [None if runs is None else runs.mean(axis=0) for runs in resampled], False
    between = _deviation_between(groups, resampled, freedom)
    return [
        None
        if runs is None
        else np.maximum(runs.mean(axis=0) * (1 + between / sqrt(len(group)) * random.standard_t(freedom, count)), 1.0)
        for group, runs in zip(groups, resampled, strict=True)
    ], True


def _resample_runs(group: Sequence[Floats], count: int, random: np.random.Generator) -> Floats | None:
    """Return resampled typical steps, ns, a row for each run; None if a run has a single step."""
    if any(len(run) < 2 for run in group):  # noqa: PLR2004 - a single step has no scatter
        return None
    wider = dependence_factor(group)
    resampled = [typical_step(run) + wider * resample(run[:, None], "typical", count, random)[:, 0] for run in group]
    return np.maximum(np.array(resampled), 1.0)


def _deviation_between(groups: Sequence[Sequence[Floats]], resampled: Sequence[Floats | None], freedom: int) -> float:
    """Return the standard deviation between runs of one value as a share of their mean, less what their steps explain.

    `freedom` is the number of runs less the number of values.
    """
    among = within = 0.0
    for group, runs in zip(groups, resampled, strict=True):
        centers = np.array([typical_step(run) for run in group])
        mean = float(centers.mean()) or 1.0
        among += float(((centers - mean) ** 2).sum()) / mean**2
        if runs is not None:
            within += (len(group) - 1) * float(runs.var(axis=1).mean()) / mean**2
    return sqrt(max(among - within, 0.0) / freedom)
