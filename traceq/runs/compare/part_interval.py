"""How sure the change of a part is: of a kernel, a copy, a collective, or of what an idle GPU waited for.

A run keeps of each part its mean and its standard deviation from step to step, not the steps themselves: the interval is that of
a difference of means (Student's t), where that of the step and its categories is resampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from traceq.runs.compare.known_noise import KnownNoise, usual
from traceq.runs.compare.match import Piece
from traceq.runs.statistics import student_quantile

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
    between = _between(sides, runs)
    variance = sum(
        max(_within(side), between / number) + _known(side, noise) ** 2 / number
        for side, number in zip(sides, runs, strict=True)
    )
    known = 0 if noise is None else noise.freedom
    freedom = sum(runs) - 2 + known if max(runs) > 1 else min(piece.freedom for piece in pieces)
    change = float(sum(piece.dur for piece in sides[1]) - sum(piece.dur for piece in sides[0]))
    reach = student_quantile(level, max(1, min(freedom, _MOST_FREEDOM))) * math.sqrt(variance)
    return math.floor(change - reach), math.ceil(change + reach)


def _between(sides: tuple[Sequence[Piece], Sequence[Piece]], runs: tuple[int, int]) -> float:
    """The variance of the part's time from run to run, of both sides together, ns squared; 0 where no side has several runs."""
    squares = 0.0
    for side, number in zip(sides, runs, strict=True):
        times = np.zeros(number)
        for piece in side:
            times[piece.run] += float(piece.dur) * number
        squares += float(times.var()) * number
    return squares / max(sum(runs) - 2, 1)


def _within(pieces: Sequence[Piece]) -> float:
    """The variance of a side's time by its steps, ns squared; pieces of one run are taken to err together."""
    errors: dict[int, float] = {}
    for piece in pieces:
        errors[piece.run] = errors.get(piece.run, 0.0) + (piece.error or 0.0)
    return sum(error**2 for error in errors.values())


def _known(pieces: Sequence[Piece], noise: KnownNoise | None) -> float:
    """What a run of the side is taken to differ by, ns."""
    if noise is None or not pieces:
        return 0.0
    time = float(sum(piece.dur for piece in pieces))
    return usual(noise, time, {pieces[0].category: time})
