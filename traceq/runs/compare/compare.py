"""From the runs of two sides to a comparison and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from traceq.runs import statistics
from traceq.runs.compare.causes import UNTOLD, categories, causes, with_untold
from traceq.runs.compare.comparable import comparable_ledgers, obstacles, other_mix, remarks
from traceq.runs.compare.comparison import CHANGED, SURE, Change, Comparison, KindChange, NamedCause
from traceq.runs.compare.known_noise import KnownNoise, assumed, told, usual
from traceq.runs.compare.likely import explain_one_off, judge_likely
from traceq.runs.compare.named_causes import across_the_board, choose_likely_causes, named_causes, sure_all_the_same
from traceq.runs.compare.profiling import Profiling, other_profiling
from traceq.runs.compare.rows import counts, rows
from traceq.runs.compare.side import common_kinds, given_again, of_kind, once, same_files, side, step_ns, usable
from traceq.runs.compare.units import find_unlike_units, find_unlike_windows
from traceq.runs.compare.verdict import judged
from traceq.runs.made_with import differences
from traceq.runs.run import FindingKept, Run
from traceq.runs.statistics import Statistic

LEVEL = 0.02
FLOOR = 0.01
SENSITIVITY = 0.05
_STATISTICS: tuple[Statistic, ...] = ("typical", "mean")


def compare(
    base: Sequence[Run],
    new: Sequence[Run],
    *,
    level: float = LEVEL,
    floor_share: float = FLOOR,
    sensitivity_share: float = SENSITIVITY,
    statistic: Statistic = "typical",
    judge_by: Statistic | None = None,
    noise: KnownNoise | None = None,
    anyway: bool = False,
) -> Comparison:
    """What changed from `base` to `new`, whose runs are pooled, every run counting the same.

    A change is called one when p is `level` at most, so that its interval (confidence 1 - level) does not hold 0, and when it is
    at least `floor_share` of the base: single runs of one program are taken to differ by less than that without a cause. "No
    change" is said when one of `sensitivity_share` would have been found. The verdict is on the step by `judge_by`, which is
    `statistic` where it is not given.
    `noise` is what runs of one program are known to differ by; where it is None and runs are too few to show it, it is assumed.
    Steps of a server are compared kind by kind.
    `anyway`: a verdict is given although the sides cannot be compared.
    """
    judged_alike = partial(
        _compared,
        floor_share=floor_share,
        sensitivity_share=sensitivity_share,
        statistic=statistic,
        judge_by=judge_by,
        noise=noise,
        anyway=anyway,
    )
    kinds = common_kinds(usable(base), usable(new))
    if not kinds:
        return judged_alike(base, new, level)
    each = {
        kind: judged_alike(
            [of_kind(run, kind) for run in base], [of_kind(run, kind) for run in new], level / len(kinds)
        )
        for kind in kinds
    }
    shown = max(kinds, key=lambda kind: _weight(each[kind]))
    return replace(
        each[shown],
        remarks=(*other_mix(base, new), *each[shown].remarks),
        kind=shown,
        kinds=tuple(
            KindChange(kind, found.base.counted, found.new.counted, found.verdict, found.change)
            for kind, found in each.items()
        ),
    )


def _weight(of_kind: Comparison) -> tuple[int, float]:
    """Return what decides which kind of step is shown: a change, sure before likely, by its time in all steps; else all time."""
    if of_kind.change is None:
        return 0, 0.0
    is_changed = of_kind.verdict in CHANGED
    ns = of_kind.change.delta_ns if is_changed else of_kind.change.base_ns
    return is_changed + (of_kind.verdict in SURE), of_kind.base.counted * abs(ns)


def _compared(
    base: Sequence[Run],
    new: Sequence[Run],
    level: float,
    *,
    floor_share: float,
    sensitivity_share: float,
    statistic: Statistic,
    judge_by: Statistic | None,
    noise: KnownNoise | None,
    anyway: bool,
) -> Comparison:
    """The comparison of runs whose steps are of one kind; parameters as in `compare`."""
    repeated = [f"{name}: {each}" for name, runs in (("base", base), ("new", new)) for each in given_again(runs)]
    base, new = once(base), once(new)
    sides = (side(base), side(new))
    runs = comparable_ledgers(usable(base), usable(new))
    found = tuple(dict.fromkeys(obstacles(base, new)))
    empty = Comparison(
        verdict="cannot tell",
        reasons=found,
        comparable=not found,
        obstacles=found,
        assumptions=(),
        remarks=tuple(dict.fromkeys([*repeated, *remarks(*sides)])),
        level=level,
        floor_share=floor_share,
        base=sides[0],
        new=sides[1],
        change=None,
        other=None,
        causes=(),
        operators=(),
        phases=(),
        counts=(),
        findings_gone=_not_in(base, new),
        findings_new=_not_in(new, base),
        made_with=differences((base, new)),
    )
    is_hindered = bool(found) and not anyway
    if not all(runs) or (
        is_hindered and not {*find_unlike_units(*runs), *find_unlike_windows(*runs)}.isdisjoint(found)
    ):
        return empty
    noise = noise or assumed(*map(len, runs))
    measured = {each: _change(*runs, each, level, noise) for each in _STATISTICS}
    profiling = other_profiling(*runs)
    if profiling:
        measured = {
            name: each._replace(change=_with_profiling(each.change, profiling)) for name, each in measured.items()
        }
    judged_on = measured[judge_by or statistic]
    verdict, reason = judged(sides, judged_on.change, level, floor_share, sensitivity_share)
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
    made_of = causes(*runs, change, intervals, noise, level)
    named: tuple[NamedCause, ...] = ()
    if verdict in SURE:
        named = named_causes(made_of, change.delta_ns)
    elif verdict in CHANGED:
        named = choose_likely_causes(made_of, change.delta_ns)
    elif not is_hindered:
        named = sure_all_the_same(made_of, strict, floor_share * change.base_ns)
    return replace(
        empty,
        verdict=verdict,
        reasons=found if is_hindered else (reason,),
        assumptions=tuple(_assumptions(noise, change, (len(runs[0]), len(runs[1])), None if found else profiling)),
        change=change,
        other=measured["mean" if statistic == "typical" else "typical"].change,
        causes=made_of,
        named=named,
        across=across_the_board(made_of) if named else None,
        operators=rows(*runs, statistic, "operator"),
        phases=rows(*runs, statistic, "phase"),
        counts=tuple(counts(*runs, statistic)),
    )


class _Measured(NamedTuple):
    """The change and the intervals of the categories of the ledger, none where steps are too few.

    `strict` are intervals that hold all true changes at once with that confidence (Bonferroni).
    """

    change: Change
    intervals: dict[str, tuple[int, int]]
    strict: dict[str, tuple[int, int]]


def _change(
    base: Sequence[Run], new: Sequence[Run], statistic: Statistic, level: float, noise: KnownNoise | None
) -> _Measured:
    base_ns, new_ns = (round(step_ns(runs, statistic)) for runs in (base, new))
    names = [*categories([*base, *new]), UNTOLD]
    samples = [[_sample(run, names) for run in runs] for runs in (base, new)]
    change = Change(statistic, base_ns, new_ns, new_ns - base_ns, None, None, None)
    if same_files(base, new):
        return _Measured(
            replace(change, interval_ns=(0, 0), p=1.0, detectable_ns=0), *([dict.fromkeys(names, (0, 0))] * 2)
        )
    centers = [np.mean([statistics.center(run, statistic) for run in runs], axis=0) for runs in samples]
    known = None
    if noise is not None:
        known = statistics.Known(_usual(noise, centers[0], names), _usual(noise, centers[1], names), noise.freedom)
    found = statistics.spread(samples[0], samples[1], statistic, known)
    if found is None:
        return _Measured(change, {}, {})
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
    return _Measured(change, intervals, strict)


def _usual(noise: KnownNoise, center: statistics.Floats, names: Sequence[str]) -> statistics.Floats:
    """What runs differ by, ns: of the step and of each category."""
    parts = dict(zip(names, center[1:].tolist(), strict=True))
    return np.array(
        [usual(noise, center[0], parts), *(usual(noise, each, {name: each}) for name, each in parts.items())]
    )


def _with_profiling(change: Change, profiling: Profiling) -> Change:
    """The change whose interval holds that of steps that are not profiled, too."""
    if change.interval_ns is None:
        return change
    low, high = change.interval_ns
    return replace(change, interval_ns=(low - max(profiling.more_ns, 0), high - min(profiling.more_ns, 0)))


def _assumptions(
    noise: KnownNoise | None, change: Change, runs: tuple[int, int], profiling: Profiling | None
) -> Iterator[str]:
    if noise is not None and change.noise_ns is not None and change.base_ns:
        yield told(noise, change.noise_ns / change.base_ns, runs)
    if profiling is not None and change.interval_ns is not None:
        yield f"{profiling.told}; the interval holds the change with and without it"


def _sample(run: Run, names: Sequence[str]) -> statistics.Floats:
    """The counted steps as rows of duration and parts, ns."""
    found = []
    for step in run.counted:
        parts = with_untold(step)
        found.append([step.dur, *(parts.get(name, 0) for name in names)])
    return np.array(found, dtype=np.float64)


def _not_in(runs: Sequence[Run], others: Sequence[Run]) -> tuple[FindingKept, ...]:
    """The findings of one side, the largest of each rule, whose rule looked at every run of the other and found nothing."""
    there = {each.rule for run in others for each in run.found}
    there |= {rule for run in others for rule in run.cannot_tell}
    found: dict[str, FindingKept] = {}
    for finding in (each for run in runs for each in run.findings):
        if finding.rule not in there and finding.saving_ns >= getattr(found.get(finding.rule), "saving_ns", 0):
            found[finding.rule] = finding
    return tuple(sorted(found.values(), key=lambda each: (-each.saving_ns, each.rule))) if others else ()
