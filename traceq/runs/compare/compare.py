"""From the runs of two sides to a comparison and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from msgspec.structs import replace

from traceq.runs import statistics
from traceq.runs.compare.causes import UNTOLD, add_untold, find_causes, list_categories
from traceq.runs.compare.comparable import compare_mix, drop_host_ledgers, find_obstacles, find_remarks
from traceq.runs.compare.comparison import CHANGED, SURE, Change, Comparison, KindChange, NamedCause
from traceq.runs.compare.known_noise import KnownNoise, assume_noise, describe_noise, usual_deviation
from traceq.runs.compare.likely import explain_one_off, judge_likely
from traceq.runs.compare.named_causes import (
    choose_likely_causes,
    choose_sure_causes,
    find_common_factor,
    significant_without_verdict,
)
from traceq.runs.compare.profiling import Profiling, compare_profiling
from traceq.runs.compare.rows import compare_counts, compare_rows
from traceq.runs.compare.side import (
    are_same_files,
    common_kinds,
    describe_duplicates,
    describe_side,
    drop_duplicates,
    keep_kind,
    runs_with_steps,
    step_ns,
)
from traceq.runs.compare.units import find_unlike_units, find_unlike_windows
from traceq.runs.compare.verdict import judge_change
from traceq.runs.made_with import find_differences
from traceq.runs.run import FindingKept, Run
from traceq.runs.statistics import Statistic

LEVEL = 0.02
FLOOR = 0.01
SENSITIVITY = 0.05
_STATISTICS: tuple[Statistic, ...] = ("typical", "mean")


class Criteria(TypedDict, total=False):
    """Optional criteria by which `compare` judges a change; `compare` explains them."""

    level: float
    floor_share: float
    sensitivity_share: float
    statistic: Statistic
    judge_by: Statistic | None
    noise: KnownNoise | None
    anyway: bool


_USUAL: Criteria = {
    "level": LEVEL,
    "floor_share": FLOOR,
    "sensitivity_share": SENSITIVITY,
    "statistic": "typical",
    "judge_by": None,
    "noise": None,
    "anyway": False,
}


def compare(base: Sequence[Run], new: Sequence[Run], **criteria: Unpack[Criteria]) -> Comparison:
    """Compare `new` with `base` and return the change and its verdict; the runs of a side are pooled, all with the same weight.

    A change is significant when p is at most `level`; then its interval (confidence 1 - level) does not contain 0. It
    must also be at least `floor_share` of the base, because single runs of one program may differ by less without a
    cause. "No change" means that a change of `sensitivity_share` would have been found. The verdict is on the step by
    `judge_by`, by default by `statistic`. `noise` is the known noise between runs of one program; None means that it is
    assumed where runs are too few to show it. Steps of a server are compared kind by kind. With `anyway`, sides that
    cannot be compared get a verdict, too.
    """
    by: Criteria = {**_USUAL, **criteria}
    kinds = common_kinds(runs_with_steps(base), runs_with_steps(new))
    if not kinds:
        return _compare_kind(base, new, by)
    by["level"] /= len(kinds)
    by_kind = {
        kind: _compare_kind([keep_kind(run, kind) for run in base], [keep_kind(run, kind) for run in new], by)
        for kind in kinds
    }
    shown = max(kinds, key=lambda kind: _rank_kind(by_kind[kind]))
    return replace(
        by_kind[shown],
        remarks=(*compare_mix(base, new), *by_kind[shown].remarks),
        kind=shown,
        kinds=tuple(
            KindChange(kind, found.base.counted, found.new.counted, found.verdict, found.change)
            for kind, found in by_kind.items()
        ),
    )


def _rank_kind(of_kind: Comparison) -> tuple[int, float]:
    """Return a sort key for choosing the kind of steps to show: sure changes rank highest, then likely ones, then total time."""
    if of_kind.change is None:
        return 0, 0.0
    is_changed = of_kind.verdict in CHANGED
    ns = of_kind.change.delta_ns if is_changed else of_kind.change.base_ns
    return is_changed + (of_kind.verdict in SURE), of_kind.base.counted * abs(ns)


def _compare_kind(base: Sequence[Run], new: Sequence[Run], by: Criteria) -> Comparison:
    """Compare runs whose steps are all of the same kind, and return the comparison; parameters as in `compare`."""
    repeated = [
        f"{name}: {each}" for name, runs in (("base", base), ("new", new)) for each in describe_duplicates(runs)
    ]
    base, new = drop_duplicates(base), drop_duplicates(new)
    sides = (describe_side(base), describe_side(new))
    runs = drop_host_ledgers(runs_with_steps(base), runs_with_steps(new))
    found = tuple(dict.fromkeys(find_obstacles(base, new)))
    empty = Comparison(
        verdict="cannot tell",
        reasons=found,
        comparable=not found,
        obstacles=found,
        remarks=tuple(dict.fromkeys([*repeated, *find_remarks(*sides)])),
        level=by["level"],
        floor_share=by["floor_share"],
        base=sides[0],
        new=sides[1],
        findings_gone=_findings_missing_in(base, new),
        findings_new=_findings_missing_in(new, base),
        made_with=find_differences((base, new)),
    )
    is_hindered = bool(found) and not by["anyway"]
    if not all(runs) or (
        is_hindered and not {*find_unlike_units(*runs), *find_unlike_windows(*runs)}.isdisjoint(found)
    ):
        return empty
    return _judge_sides(empty, runs, by, is_hindered=is_hindered)


def _judge_sides(
    empty: Comparison, runs: tuple[list[Run], list[Run]], by: Criteria, *, is_hindered: bool
) -> Comparison:
    """Return `empty` completed: the measured change of sides with steps, its verdict and its causes.

    With `is_hindered` the sides cannot be compared, and the verdict is "cannot tell".
    """
    level, statistic, judge_by, found = by["level"], by["statistic"], by["judge_by"], empty.obstacles
    noise = by["noise"] or assume_noise(*map(len, runs))
    measured = {each: _measure_change(*runs, each, level, noise) for each in _STATISTICS}
    profiling = compare_profiling(*runs)
    if profiling:
        measured = {
            name: each._replace(change=_widen_by_profiling(each.change, profiling)) for name, each in measured.items()
        }
    judged_on = measured[judge_by or statistic]
    verdict, reason = judge_change(
        (empty.base, empty.new), judged_on.change, level, by["floor_share"], by["sensitivity_share"]
    )
    if is_hindered:
        verdict, reason = "cannot tell", found[0]
    elif verdict == "cannot tell" and not found:
        changes = {name: each.change for name, each in measured.items()}
        open_ = judge_likely(*runs, changes, judged_on.change.statistic, judged_on.intervals, noise, level)
        if open_ is None:
            reason = explain_one_off(*runs, judged_on.change) or reason
        else:
            verdict, reason, statistic = open_.verdict, open_.reason, open_.statistic if judge_by is None else statistic
    change, intervals, strict = measured[statistic]
    made_of = find_causes(*runs, change, intervals, noise, level)
    named: tuple[NamedCause, ...] = ()
    if verdict in SURE:
        named = choose_sure_causes(made_of, change.delta_ns)
    elif verdict in CHANGED:
        named = choose_likely_causes(made_of, change.delta_ns)
    elif not is_hindered:
        named = significant_without_verdict(made_of, strict, by["floor_share"] * change.base_ns)
    return replace(
        empty,
        verdict=verdict,
        reasons=found if is_hindered else (reason,),
        assumptions=tuple(_list_assumptions(noise, change, (len(runs[0]), len(runs[1])), None if found else profiling)),
        change=change,
        other=measured["mean" if statistic == "typical" else "typical"].change,
        causes=made_of,
        named=named,
        across=find_common_factor(made_of) if named else None,
        operators=compare_rows(*runs, statistic, "operator"),
        phases=compare_rows(*runs, statistic, "phase"),
        counts=tuple(compare_counts(*runs, statistic)),
    )


class _MeasuredChange(NamedTuple):
    """A change of the step, and confidence intervals of its ledger categories, ns; no intervals where steps are too few.

    `strict` are wider intervals, which contain all true changes at once with that confidence (Bonferroni).
    """

    change: Change
    intervals: dict[str, tuple[int, int]]
    strict: dict[str, tuple[int, int]]


def _measure_change(
    base: Sequence[Run], new: Sequence[Run], statistic: Statistic, level: float, noise: KnownNoise | None
) -> _MeasuredChange:
    """Measure the change of the step by `statistic`, and confidence intervals (1 - `level`) of it and its ledger categories.

    `noise` between runs widens the intervals. Without several steps in each run there are no intervals.
    """
    base_ns, new_ns = (round(step_ns(runs, statistic)) for runs in (base, new))
    names = [*list_categories([*base, *new]), UNTOLD]
    samples = [[_sample(run, names) for run in runs] for runs in (base, new)]
    change = Change(statistic, base_ns, new_ns, new_ns - base_ns, None, None, None)
    if are_same_files(base, new):
        return _MeasuredChange(
            replace(change, interval_ns=(0, 0), p=1.0, detectable_ns=0), *([dict.fromkeys(names, (0, 0))] * 2)
        )
    centers = [np.mean([statistics.center_of(run, statistic) for run in runs], axis=0) for runs in samples]
    known = None
    if noise is not None:
        known = statistics.StatedNoise(
            _usual_deviations(noise, centers[0], names), _usual_deviations(noise, centers[1], names), noise.freedom
        )
    found = statistics.measure_spread(samples[0], samples[1], statistic, known)
    if found is None:
        return _MeasuredChange(change, {}, {})
    first, second = ([run[:, 0] for run in runs] for runs in samples)
    p = max(statistics.permutation_p(first, second, statistic), found.p(0, change.delta_ns))
    low, high = found.interval(0, change.delta_ns, level)
    detectable = round(found.detectable(level))
    change = replace(
        change,
        # no change is among what the steps leave possible
        interval_ns=(min(low, 0), max(high, 0)) if p > level else (low, high),
        p=p,
        detectable_ns=detectable if detectable <= base_ns else None,
        noise_ns=None if known is None else round(float(known.base[0])),
    )
    deltas = centers[1] - centers[0]
    intervals, strict = (
        {name: found.interval(column, float(deltas[column]), each) for column, name in enumerate(names, 1)}
        for each in (level, level / len(names))
    )
    return _MeasuredChange(change, intervals, strict)


def _usual_deviations(noise: KnownNoise, center: statistics.Floats, names: Sequence[str]) -> statistics.Floats:
    """Return the standard deviation between runs, ns: first of the step, then of each ledger category in `names`.

    `center` holds the time of the step and of the categories in the same order.
    """
    parts = dict(zip(names, center[1:].tolist(), strict=True))
    return np.array(
        [
            usual_deviation(noise, center[0], parts),
            *(usual_deviation(noise, each, {name: each}) for name, each in parts.items()),
        ]
    )


def _widen_by_profiling(change: Change, profiling: Profiling) -> Change:
    """Return the change with its interval widened, so that it also contains the change without the profiler's other cost."""
    if change.interval_ns is None:
        return change
    low, high = change.interval_ns
    return replace(change, interval_ns=(low - max(profiling.more_ns, 0), high - min(profiling.more_ns, 0)))


def _list_assumptions(
    noise: KnownNoise | None, change: Change, runs: tuple[int, int], profiling: Profiling | None
) -> Iterator[str]:
    """Yield a sentence for each assumption in the change's interval: the noise between runs, and the profiler's other cost."""
    if noise is not None and change.noise_ns is not None and change.base_ns:
        yield describe_noise(noise, change.noise_ns / change.base_ns, runs)
    if profiling is not None and change.interval_ns is not None:
        yield f"{profiling.told}; the interval covers the change with and without it"


def _sample(run: Run, names: Sequence[str]) -> statistics.Floats:
    """Return a matrix, ns: a row for each counted step, with its duration, then its time in each category of `names`."""
    found = []
    for step in run.counted:
        parts = add_untold(step)
        found.append([step.dur, *(parts.get(name, 0) for name in names)])
    return np.array(found, dtype=np.float64)


def _findings_missing_in(runs: Sequence[Run], others: Sequence[Run]) -> tuple[FindingKept, ...]:
    """Return the runs' largest finding of each rule that judged all `others` and found nothing there, largest saving first.

    Empty without `others`.
    """
    there = {each.rule for run in others for each in run.found}
    there |= {rule for run in others for rule in run.cannot_tell}
    found: dict[str, FindingKept] = {}
    for finding in (each for run in runs for each in run.findings):
        if finding.rule not in there and finding.saving_ns >= getattr(found.get(finding.rule), "saving_ns", 0):
            found[finding.rule] = finding
    return tuple(sorted(found.values(), key=lambda each: (-each.saving_ns, each.rule))) if others else ()
