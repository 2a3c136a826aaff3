"""How sure the change of a part is: of a kernel, a copy, a collective, or of what an idle GPU waited for.

A run keeps of each part its mean and its standard deviation from step to step, not the steps themselves: the interval is that of
a difference of means (Student's t), where that of the step and its categories is resampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from traceq.runs.compare.known_noise import KnownNoise, usual
from traceq.runs.compare.match import Piece

_DRAWS = 100_000
_MOST_FREEDOM = 200  # from here on Student's t is the normal distribution


def part_interval(
    sides: tuple[Sequence[Piece], Sequence[Piece]], runs: tuple[int, int], noise: KnownNoise | None, level: float
) -> tuple[int, int] | None:
    """What holds the true change with confidence 1 - level, ns; None where a piece has no error, or there is none.

    `sides` are the pieces of the part, all of one category, each of one of `runs` runs; `noise` is what is assumed of runs.
    """
    pieces = [piece for side in sides for piece in side]
    if not pieces or any(piece.error is None for piece in pieces):
        return None
    variance = sum(_variance(side, number, noise) for side, number in zip(sides, runs, strict=True))
    known = 0 if noise is None else noise.freedom
    freedom = sum(runs) - 2 + known if max(runs) > 1 else min(piece.freedom for piece in pieces)
    change = float(sum(piece.dur for piece in sides[1]) - sum(piece.dur for piece in sides[0]))
    reach = _t(1 - level / 2, max(1, min(freedom, _MOST_FREEDOM))) * math.sqrt(variance)
    return math.floor(change - reach), math.ceil(change + reach)


def _variance(pieces: Sequence[Piece], runs: int, noise: KnownNoise | None) -> float:
    """Of the part's time in the step of the side, ns squared: the larger of what steps tell and what runs tell.

    What pieces of one run err by is added up as if they erred together.
    """
    errors, times = np.zeros(runs), np.zeros(runs)
    for piece in pieces:
        errors[piece.run] += piece.error or 0
        times[piece.run] += float(piece.dur) * runs
    within = float((errors**2).sum())
    between = float(times.var(ddof=1)) / runs if runs > 1 else 0.0
    by_category: dict[str, float] = {}
    for piece in pieces:
        by_category[piece.category] = by_category.get(piece.category, 0.0) + float(piece.dur)
    known = 0.0 if noise is None else usual(noise, sum(by_category.values()), by_category)
    return max(within, between) + known**2 / runs


@lru_cache(maxsize=64)
def _t(share: float, freedom: int) -> float:
    """The quantile of Student's t, to two per cent, by drawing."""
    return float(np.quantile(np.random.default_rng(freedom).standard_t(freedom, _DRAWS), share))
