"""Take a change apart: into categories of the ledger, and these into kernels, copies, collectives and waits; all adds up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from traceq.analysis.categories import OF_HOST
from traceq.common.distributions import student_quantile
from traceq.runs import statistics
from traceq.runs.compare.comparison import Cause, Change, ChangePart
from traceq.runs.compare.known_noise import KnownNoise, usual_deviation
from traceq.runs.compare.match import Matched, MatchPiece, match_pieces
from traceq.runs.compare.names import OF_LIBRARIES, find_role, stable_name
from traceq.runs.compare.side import amount_of, describe_other_gpu, round_parts, step_durations, step_weight, steps_of
from traceq.runs.run import Item, Run, RunStep
from traceq.runs.statistics import Statistic

UNTOLD = "unattributed"
"""The category of a step without a ledger."""

# Categories whose items are host slices.
_BY_HOST = ("idle_", OF_HOST)

Intervals = Mapping[str, tuple[int, int]]


def list_categories(runs: Sequence[Run]) -> list[str]:
    """Return the names of all ledger categories in the runs' steps, in alphabetical order."""
    return sorted({category for run in runs for step in run.steps for category in step.ledger})


def sum_ledger(runs: Sequence[Run], statistic: Statistic) -> dict[str, Fraction]:
    """Return the ledger of the step averaged over the runs: ns by category, exactly. Time without a category is UNTOLD."""
    parts: dict[str, Fraction] = {}
    for run in runs:
        share = step_weight(run, runs, statistic)
        for step in steps_of(run, statistic):
            for category, dur in add_untold(step).items():
                parts[category] = parts.get(category, Fraction(0)) + share * dur
    return parts


def add_untold(step: RunStep) -> dict[str, int]:
    """Return the step's ledger, ns by category, with the rest of its duration added as UNTOLD."""
    untold = step.dur - sum(step.ledger.values())
    return {**step.ledger, UNTOLD: step.ledger.get(UNTOLD, 0) + untold} if untold else dict(step.ledger)


def find_causes(
    base: Sequence[Run],
    new: Sequence[Run],
    change: Change,
    intervals: Intervals,
    noise: KnownNoise | None,
    level: float,
) -> tuple[Cause, ...]:
    """Return the ledger categories, largest change first, each with its parts; their deltas add up to `change.delta_ns`.

    `intervals` are the confidence intervals of the categories. Intervals of the parts are computed here, with
    confidence 1 - `level` and the known `noise` between runs.
    """
    certain = partial(part_interval, runs=(len(base), len(new)), noise=noise, level=level)
    held = [sum_ledger(runs, change.statistic) for runs in (base, new)]
    names = sorted(set(held[0]) | set(held[1]))
    exact = [[parts.get(name, Fraction(0)) for name in names] for parts in held]
    base_ns, new_ns = round_parts(exact[0], change.base_ns), round_parts(exact[1], change.new_ns)
    is_other_gpu = describe_other_gpu(base, new) is not None
    pieces = [_collect_pieces(runs, change.statistic, is_other_gpu=is_other_gpu) for runs in (base, new)]
    found = [
        Cause(
            category=name,
            base_ns=base_ns[place],
            new_ns=new_ns[place],
            delta_ns=new_ns[place] - base_ns[place],
            interval_ns=intervals.get(name),
            parts=_match_parts(
                name,
                [side.get(name, []) for side in pieces],
                (exact[0][place], exact[1][place]),
                (base_ns[place], new_ns[place]),
                certain,
            ),
        )
        for place, name in enumerate(names)
    ]
    return tuple(sorted(found, key=lambda cause: (-abs(cause.delta_ns), -cause.base_ns, cause.category)))


def _collect_pieces(runs: Sequence[Run], statistic: Statistic, *, is_other_gpu: bool) -> dict[str, list[MatchPiece]]:
    """Return the runs' items by ledger category, as pieces to match: exact count and ns per step of the averaged runs."""
    pieces: dict[str, list[MatchPiece]] = {}
    for number, run in enumerate(runs):
        share = step_weight(run, runs, statistic)
        resembling = statistics.dependence_factor([step_durations(run)])
        for item in run.items:
            amount = amount_of(item, statistic)
            error = _standard_error(item, run, statistic)
            if amount.count or amount.dur:
                pieces.setdefault(item.category, []).append(
                    MatchPiece(
                        item.category,
                        stable_name(item.name) if item.name and item.category.startswith(_BY_HOST) else item.name,
                        item.shape,
                        stable_name(item.operator) if item.operator and item.category == "compute" else None,
                        share * amount.count,
                        share * amount.dur,
                        number,
                        None if error is None else error * resembling / len(runs),
                        len(run.counted) - 1,
                        _kernel_role(item, is_other_gpu=is_other_gpu),
                    )
                )
    return pieces


def _kernel_role(item: Item, *, is_other_gpu: bool) -> str | None:
    """Return the role of the item's kernel (attention, norms, ...) by which different kernels are matched, or None.

    If both sides ran on the same GPU, only kernels of libraries (matrix products, attention, ...) have one.
    """
    found = find_role(item.name, item.family) if item.name and item.category == "compute" else None
    return found if is_other_gpu or found in OF_LIBRARIES else None


def _standard_error(item: Item, run: Run, statistic: Statistic) -> float | None:
    """Return the standard error of the item's time per step in the run, ns; None if its deviation is not known.

    For the typical step (mean of the middle half) it is the smaller of two bounds. The first holds if the steps are in
    the middle half because of this item: the deviation there is 0.38 of the one over all steps. The second holds
    otherwise.
    """
    every, typical = item.every.deviation, item.typical.deviation
    if every is None:
        return None
    of_all = every / math.sqrt(len(run.counted))
    if statistic == "mean" or typical is None:
        return of_all
    return min(2 * typical / math.sqrt(len(run.typical)), math.sqrt(2) * of_all)


def _match_parts(
    category: str,
    pieces: Sequence[Sequence[MatchPiece]],
    exact: tuple[Fraction, Fraction],
    rounded: tuple[int, int],
    certain: Callable[[tuple[Sequence[MatchPiece], Sequence[MatchPiece]]], tuple[int, int] | None],
) -> tuple[ChangePart, ...]:
    """Return the category's matched parts, largest change first, and one nameless part for time that no piece holds.

    `exact` and `rounded` are the category's time on both sides, ns; `certain` computes a confidence interval from
    pieces.
    """
    pairs = match_pieces(pieces[0], pieces[1])
    rest = [total - sum((pair.dur[side] for pair in pairs), Fraction(0)) for side, total in enumerate(exact)]
    if any(rest):
        pairs.append(
            Matched("same", ((), ()), (None, None), None, (Fraction(0), Fraction(0)), (rest[0], rest[1]), ((), ()))
        )
    if not pairs:
        return ()
    base_ns, new_ns = (round_parts([pair.dur[side] for pair in pairs], rounded[side]) for side in (0, 1))
    parts = [
        ChangePart(
            category=category,
            base_names=pair.names[0],
            new_names=pair.names[1],
            shape=pair.shapes[1] or pair.shapes[0],
            base_shape=pair.shapes[0],
            operator=pair.operator,
            role=pair.role,
            kind=pair.kind,
            base_count=float(pair.count[0]),
            new_count=float(pair.count[1]),
            base_ns=base_ns[place],
            new_ns=new_ns[place],
            delta_ns=new_ns[place] - base_ns[place],
            interval_ns=certain(pair.pieces),
        )
        for place, pair in enumerate(pairs)
    ]
    return tuple(
        sorted(parts, key=lambda part: (-abs(part.delta_ns), -part.base_ns, part.name or "", part.shape or ""))
    )


_MOST_FREEDOM = 200  # from here on Student's t is the normal distribution


def part_interval(
    sides: tuple[Sequence[MatchPiece], Sequence[MatchPiece]],
    runs: tuple[int, int],
    noise: KnownNoise | None,
    level: float,
) -> tuple[int, int] | None:
    """Return the interval of the part's true change with confidence 1 - level, ns.

    None if a piece has no standard error. `sides` are the pieces of the part on both sides, `runs` the numbers of runs,
    `noise` the known noise between runs.
    """
    pieces = [piece for side in sides for piece in side]
    if not pieces or any(piece.error is None for piece in pieces):
        return None
    between = _variance_between(sides, runs)
    variance = sum(
        max(_variance_within(side), between / number) + _deviation_by_noise(side, noise) ** 2 / number
        for side, number in zip(sides, runs, strict=True)
    )
    known = 0 if noise is None else noise.freedom
    freedom = sum(runs) - 2 + known if max(runs) > 1 else min(piece.freedom for piece in pieces)
    change = float(sum(piece.dur for piece in sides[1]) - sum(piece.dur for piece in sides[0]))
    reach = student_quantile(level, max(1, min(freedom, _MOST_FREEDOM))) * math.sqrt(variance)
    return math.floor(change - reach), math.ceil(change + reach)


def _variance_between(sides: tuple[Sequence[MatchPiece], Sequence[MatchPiece]], runs: tuple[int, int]) -> float:
    """Return the variance of the part's time from run to run, pooled over both sides, ns squared; 0 for single runs."""
    squares = 0.0
    for side, number in zip(sides, runs, strict=True):
        times = np.zeros(number)
        for piece in side:
            times[piece.run] += float(piece.dur) * number
        squares += float(times.var()) * number
    return squares / max(sum(runs) - 2, 1)


def _variance_within(pieces: Sequence[MatchPiece]) -> float:
    """Return the variance of a side's time due to the scatter of steps, ns squared.

    Errors of pieces of the same run are added, as if they varied together.
    """
    errors: dict[int, float] = {}
    for piece in pieces:
        errors[piece.run] = errors.get(piece.run, 0.0) + (piece.error or 0.0)
    return sum(error**2 for error in errors.values())


def _deviation_by_noise(pieces: Sequence[MatchPiece], noise: KnownNoise | None) -> float:
    """Return the standard deviation between runs that is assumed for the time of these pieces, ns; 0 without noise."""
    if noise is None or not pieces:
        return 0.0
    time = float(sum(piece.dur for piece in pieces))
    return usual_deviation(noise, time, {pieces[0].category: time})
