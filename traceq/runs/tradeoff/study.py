"""The trade-off of runs at several values of a knob, put together."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.runs.tradeoff.choose import beaten_of, choice_of, within_budget
from traceq.runs.tradeoff.curve import MOST_ERROR, fit
from traceq.runs.tradeoff.differing import differing
from traceq.runs.tradeoff.knee import knee_of
from traceq.runs.tradeoff.points import points_of
from traceq.runs.tradeoff.resources import compute_growth, headroom_of, limit_of, parts_of
from traceq.runs.tradeoff.tradeoff import LeftOut, Point, Setting, Taken, Tradeoff


def trade_off(taken: Sequence[Taken], setting: Setting) -> Tradeoff:
    """What the runs say. Values are at least 0, those of an amount of work above 0; only a single one may be None.

    Runs that say nothing of the length of a step are left out. On different GPUs no curve is fitted and nothing is
    chosen: what differs may be the GPU. A curve that misses what was measured is not used for anything.
    """
    left_out = [each for each in map(_left_out, taken) if each is not None]
    kept = [each for each in taken if _left_out(each) is None]
    points, resamples, between = points_of(kept, setting) if kept else ([], [], False)
    gpus = tuple(sorted({each.run.device_name for each in kept if each.run.device_name is not None}))
    is_fair = len(gpus) <= 1
    valued = [(point.value, point) for point in points if point.value is not None]
    is_series = is_fair and setting.is_amount
    tried = fit([(value, point.typical_ns) for value, point in valued]) if is_series else None
    fitted = None if tried is None or tried.largest_error > MOST_ERROR else tried
    choice = choice_of(points, resamples) if is_fair else None
    growth = compute_growth(points) if is_series else None
    is_alone = len(points) <= 1
    return Tradeoff(
        setting=setting,
        points=tuple(points),
        left_out=tuple(left_out),
        gpus=gpus,
        differs=tuple(differing([each.run for each in kept], setting.knob)),
        between_runs=between,
        fit=fitted,
        missed=tried.largest_error if tried is not None and fitted is None else None,
        knee=None if fitted is None else knee_of(fitted.curve, valued, resamples),
        dominated=beaten_of(points) if is_fair else (),
        choice=choice,
        within=within_budget(points, None if fitted is None else fitted.curve, choice, setting) if is_fair else None,
        parts=parts_of(points, is_amount=setting.is_amount) if is_fair else (),
        limit=limit_of(points, growth),
        headroom=tuple(headroom_of(each, growth, is_alone=is_alone) for each in _largest(taken, points)),
    )


def _left_out(taken: Taken) -> LeftOut | None:
    if not any(step.dur for step in taken.run.typical):
        return LeftOut(taken, "no counted steps")
    return LeftOut(taken, "no steps") if taken.run.is_window else None


def _largest(taken: Sequence[Taken], points: Sequence[Point]) -> list[Taken]:
    """The runs at the largest value; where no run has steps, all of them."""
    return [each for each in taken if each.value == points[-1].value] if points else list(taken)
