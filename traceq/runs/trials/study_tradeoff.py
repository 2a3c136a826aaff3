"""Judge the trade-off of runs at several values of a knob."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import OF_HOST
from traceq.runs.made_with import find_differences
from traceq.runs.run import Run
from traceq.runs.trials.choose_value import choose_values, fit_budget, pair_dominated
from traceq.runs.trials.curve import MOST_ERROR, find_knee, fit
from traceq.runs.trials.points import points_of
from traceq.runs.trials.resources import compute_growth, headroom_of, limit_of, parts_of
from traceq.runs.trials.tradeoff import LeftOut, Point, Taken, Tradeoff, TradeoffTerms
from traceq.runs.trials.values import AMOUNTS

# A pass more of four or fewer is more than that; a larger batch takes some other kernels as well.
_SAME_WINDOW = 1.25


def study_tradeoff(taken: Sequence[Taken], setting: TradeoffTerms) -> Tradeoff:
    """Judge the trade-off of runs at several values of a knob. Amounts of work must be above 0, other values at least 0.

    The value may be None only if there is no other. Runs whose step duration is meaningless (no steps, a cold start)
    are left out. On different GPUs no curve is fitted and nothing is chosen. A curve that misses measured steps is not
    used.
    """
    left_out = _find_left_out(taken)
    gone = {id(excluded.taken) for excluded in left_out}
    kept = [taken_run for taken_run in taken if id(taken_run) not in gone]
    points, resamples, between = points_of(kept, setting) if kept else ([], [], False)
    gpus = tuple(sorted({each.run.device_name for each in kept if each.run.device_name is not None}))
    is_fair = len(gpus) <= 1
    valued = [(point.value, point) for point in points if point.value is not None]
    is_series = is_fair and setting.is_amount
    tried = fit([(value, point.typical_ns) for value, point in valued]) if is_series else None
    fitted = None if tried is None or tried.largest_error > MOST_ERROR else tried
    choice = choose_values(points, resamples) if is_fair else None
    growth = compute_growth(points) if is_series else None
    is_alone = len(points) <= 1
    return Tradeoff(
        setting=setting,
        points=tuple(points),
        left_out=tuple(left_out),
        gpus=gpus,
        differs=tuple(find_differing([each.run for each in kept], setting.knob)),
        between_runs=between,
        fit=fitted,
        missed=tried.largest_error if tried is not None and fitted is None else None,
        knee=None if fitted is None else find_knee(fitted.curve, valued, resamples),
        dominated=pair_dominated(points) if is_fair else (),
        choice=choice,
        within=fit_budget(points, None if fitted is None else fitted.curve, choice, setting) if is_fair else None,
        parts=parts_of(points, is_amount=setting.is_amount) if is_fair else (),
        limit=limit_of(points, growth),
        headroom=tuple(headroom_of(each, growth, is_alone=is_alone) for each in _list_largest(taken, points)),
        launches=_find_extent(kept) if all(each.run.is_window for each in kept) else None,
    )


def _find_left_out(taken: Sequence[Taken]) -> list[LeftOut]:
    """Return the runs to leave out, with reasons.

    Windows stand for steps only if no run has steps and all launch about as much.
    """
    found = [
        LeftOut(taken_run, "no counted steps")
        for taken_run in taken
        if not any(step.dur for step in taken_run.run.typical)
    ]
    rest = [taken_run for taken_run in taken if any(step.dur for step in taken_run.run.typical)]
    if not all(each.run.is_window for each in rest):
        found += [LeftOut(each, "no steps") for each in rest if each.run.is_window]
        rest = [each for each in rest if not each.run.is_window]
    elif (extent := _find_extent(rest)) is not None and extent[1] > _SAME_WINDOW * extent[0]:
        found += [LeftOut(each, "other windows") for each in rest]
        rest = []
    return [*found, *(LeftOut(each, "cold") for each in rest if _is_cold(each.run))]


def _is_cold(run: Run) -> bool:
    """Return whether the run is a single step of which start-up makes more than the error that a curve may have."""
    return len(run.counted) == 1 and run.start_up_ns > MOST_ERROR * run.counted[0].dur


def _find_extent(taken: Sequence[Taken]) -> tuple[int, int] | None:
    """Return the least and the most launches (operators, without a GPU) of any run; None without runs."""
    launched = [_count_launches(taken_run.run) for taken_run in taken]
    return (min(launched), max(launched)) if launched else None


def _count_launches(run: Run) -> int:
    """Return the number of GPU launches in the run; without a GPU the number of operators."""
    of_host = f"{OF_HOST}operator"
    has_gpu = run.device is not None
    return sum(
        item.every.count
        for item in run.items
        if (has_gpu and not item.category.startswith(("idle", OF_HOST))) or (not has_gpu and item.category == of_host)
    )


def _list_largest(taken: Sequence[Taken], points: Sequence[Point]) -> list[Taken]:
    """Return the runs at the largest value; all of them if there are no points."""
    return [taken_run for taken_run in taken if taken_run.value == points[-1].value] if points else list(taken)


def find_differing(runs: Sequence[Run], knob: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each fact besides the knob that the runs state differently, with its values; GPUs are judged elsewhere."""
    facts: dict[str, Sequence[object]] = {
        "world size": [run.world_size for run in runs],
        "GPUs in use": [run.devices or None for run in runs],
        "profiler": [run.producer or run.format for run in runs],
        "steps found by": [run.step_source for run in runs],
    }
    # What these add to every call is more than most changes of a knob.
    for name in dict.fromkeys(name for run in runs for name in run.costly_settings):
        facts[f"profiler setting {name}"] = [run.costly_settings.get(name) for run in runs]
    for what, values in facts.items():
        known = sorted({str(value) for value in values if value is not None})
        if len(known) > 1:
            yield what, tuple(known)
    for difference in find_differences([[run] for run in runs]):
        if not {difference.name, difference.follows} & _names_with_knob(knob):
            yield difference.words, tuple(sorted({value for values in difference.values for value in values}))


def _names_with_knob(knob: str) -> frozenset[str]:
    """Return names of facts that change along with the knob: the command line, and batch_size for amounts of work."""
    return frozenset((knob, "command_line", *(("batch_size",) if knob in AMOUNTS else ())))
