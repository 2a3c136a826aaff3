"""From the runs of two sides to a comparison and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from traceq.runs.compare import statistics
from traceq.runs.compare.causes import UNTOLD, categories, causes, with_untold
from traceq.runs.compare.comparable import obstacles, remarks
from traceq.runs.compare.comparison import Change, Comparison, Statistic
from traceq.runs.compare.rows import counts, rows
from traceq.runs.compare.side import given_again, once, same_files, side, step_ns, usable
from traceq.runs.compare.verdict import judged
from traceq.runs.run import FindingKept, Run

LEVEL = 0.02
FLOOR = 0.01
SENSITIVITY = 0.05


def compare(
    base: Sequence[Run],
    new: Sequence[Run],
    *,
    level: float = LEVEL,
    floor_share: float = FLOOR,
    sensitivity_share: float = SENSITIVITY,
    statistic: Statistic = "typical",
    judge_by: Statistic | None = None,
    noise: float | None = None,
    anyway: bool = False,
) -> Comparison:
    """What changed from `base` to `new`, whose runs are pooled, every run counting the same.

    A change is called one when p is `level` at most, so that its interval (confidence 1 - level) does not hold 0, and when it is
    at least `floor_share` of the base: single runs of one program are taken to differ by less than that without a cause. "No
    change" is said when one of `sensitivity_share` would have been found. The verdict is on the step by `judge_by`, which is
    `statistic` where it is not given.
    `noise`: what runs of one program are known to differ by, a standard deviation as a share of the step; None: not known.
    `anyway`: a verdict is given although the sides cannot be compared.
    """
    repeated = [f"{name}: {each}" for name, runs in (("base", base), ("new", new)) for each in given_again(runs)]
    base, new = once(base), once(new)
    sides = (side(base), side(new))
    runs = (usable(base), usable(new))
    found = tuple(dict.fromkeys(obstacles(base, new)))
    empty = Comparison(
        verdict="cannot tell",
        reasons=found,
        comparable=not found,
        obstacles=found,
        remarks=tuple(dict.fromkeys([*repeated, *remarks(*sides, noise)])),
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
    )
    if not all(runs):
        return empty
    change, intervals = _change(*runs, statistic, level, noise)
    other, _ = _change(*runs, "mean" if statistic == "typical" else "typical", level, noise)
    judged_on = other if other.statistic == judge_by else change
    verdict, reason = judged(sides, judged_on, level, floor_share, sensitivity_share)
    is_hindered = found and not anyway
    return replace(
        empty,
        verdict="cannot tell" if is_hindered else verdict,
        reasons=found if is_hindered else (reason,),
        change=change,
        other=other,
        causes=causes(*runs, change, intervals),
        operators=rows(*runs, statistic, "operator"),
        phases=rows(*runs, statistic, "phase"),
        counts=tuple(counts(*runs, statistic)),
    )


def _change(
    base: Sequence[Run], new: Sequence[Run], statistic: Statistic, level: float, noise: float | None
) -> tuple[Change, dict[str, tuple[int, int]]]:
    """The change and the intervals of the categories of the ledger; none where steps are too few."""
    base_ns, new_ns = (round(step_ns(runs, statistic)) for runs in (base, new))
    names = [*categories([*base, *new]), UNTOLD]
    samples = [[_sample(run, names) for run in runs] for runs in (base, new)]
    change = Change(statistic, base_ns, new_ns, new_ns - base_ns, None, None, None)
    if same_files(base, new):
        return replace(change, interval_ns=(0, 0), p=1.0, detectable_ns=0), dict.fromkeys(names, (0, 0))
    found = statistics.spread(samples[0], samples[1], statistic, noise)
    if found is None:
        return change, {}
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
    )
    centers = [np.mean([statistics.center(run, statistic) for run in runs], axis=0) for runs in samples]
    deltas = centers[1] - centers[0]
    intervals = {name: found.interval(column, float(deltas[column]), level) for column, name in enumerate(names, 1)}
    return change, intervals


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
