"""How far typical steps scatter: those of each run resampled, and how much runs of the same value differ beyond that."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from traceq.runs.compare.statistics import Floats, center, dependence, resample

MOST_RESAMPLES = 2_000
_CELLS = 4_000_000
_LEAST_RESAMPLES = 500
_SEED = 20_251


def typical(steps: Floats) -> float:
    """The typical one of the durations of a run's counted steps, ns."""
    return float(center(steps[:, None], "typical")[0])


def resamples_of(groups: Sequence[Sequence[Floats]]) -> tuple[list[Floats | None], bool]:
    """Of each value the typical step (ns) as it could have been: an array of resamples, None when a run has too few steps.

    Of each value the durations of every run's counted steps are given. Where any value has several runs, the scatter
    between runs (relative, pooled over all values) is part of the resamples: then the second is True.
    """
    random = np.random.default_rng(_SEED)
    longest = max((len(run) for group in groups for run in group), default=1)
    count = int(np.clip(_CELLS // max(longest, 1), _LEAST_RESAMPLES, MOST_RESAMPLES))
    resampled = [_of_value(group, count, random) for group in groups]
    freedom = sum(len(group) - 1 for group in groups)
    if not freedom:
        return [None if runs is None else runs.mean(axis=0) for runs in resampled], False
    between = _between(groups, resampled, freedom)
    return [
        None
        if runs is None
        else np.maximum(runs.mean(axis=0) * (1 + between / sqrt(len(group)) * random.standard_t(freedom, count)), 1.0)
        for group, runs in zip(groups, resampled, strict=True)
    ], True


def _of_value(group: Sequence[Floats], count: int, random: np.random.Generator) -> Floats | None:
    """A row for each run."""
    if any(len(run) < 2 for run in group):  # noqa: PLR2004 - a single step has no scatter
        return None
    wider = dependence(group)
    resampled = [typical(run) + wider * resample(run[:, None], "typical", count, random)[:, 0] for run in group]
    return np.maximum(np.array(resampled), 1.0)


def _between(groups: Sequence[Sequence[Floats]], resampled: Sequence[Floats | None], freedom: int) -> float:
    """The standard deviation of runs of one value as a share of their mean, less what their steps explain."""
    among = within = 0.0
    for group, runs in zip(groups, resampled, strict=True):
        centers = np.array([typical(run) for run in group])
        mean = float(centers.mean()) or 1.0
        among += float(((centers - mean) ** 2).sum()) / mean**2
        if runs is not None:
            within += (len(group) - 1) * float(runs.var(axis=1).mean()) / mean**2
    return sqrt(max(among - within, 0.0) / freedom)
