"""Judge a change: by chance, by its size, and by what the steps could have shown."""

from __future__ import annotations

from traceq.common.units import duration, share, some
from traceq.runs import statistics
from traceq.runs.compare.comparison import Change, Side, Verdict
from traceq.runs.compare.known_noise import ENOUGH_RUNS
from traceq.runs.compare.side import are_same_files

# What two single runs may differ by, found in 9 of 10, is some 5.3 of their standard deviations. From this share of what can be
# detected on, more than half of its variance is of runs.
_MOSTLY_RUNS = 0.13

Judgement = tuple["Verdict", str]


def judge_change(
    sides: tuple[Side, Side], change: Change, level: float, floor_share: float, sensitivity_share: float
) -> Judgement:
    """Return the verdict on comparable sides, and its reason; the other parameters are explained in `compare`."""
    if are_same_files(sides[0].runs, sides[1].runs):
        return "no change", "both sides are the same files, byte for byte"
    least = statistics.least_p(sides[0].counted, sides[1].counted)
    if change.interval_ns is None or change.p is None or least > level:
        return "cannot tell", _too_few(sides, level)
    is_sure = change.p <= level
    if is_sure and abs(change.delta_ns) >= floor_share * change.base_ns:
        return _judge_sure(sides, change, change.p, level)
    if is_sure:
        return "no change", (
            f"the difference is significant (p = {change.p:.2g}), but below {share(floor_share)} of the step, which single "
            "runs may differ by without a cause"
        )
    judgement = _judge_unsure(sides, change, change.p, max(sensitivity_share, floor_share))
    drifted = _largest_drift(sides)
    if judgement[0] == "cannot tell" and drifted > floor_share * change.base_ns:
        return "cannot tell", _explain_drift(drifted, change)
    return judgement


def _judge_unsure(sides: tuple[Side, Side], change: Change, p: float, sensitivity_share: float) -> Judgement:
    """Return "no change" if a change of `sensitivity_share` would have been found, else "cannot tell"; with the reason."""
    detectable = change.detectable_ns
    if detectable is None:
        return "cannot tell", f"even a step twice as long could have gone unnoticed, as {_too_different(sides, change)}"
    if abs(change.delta_ns) > detectable:
        return "cannot tell", (
            f"the sides differ by {_describe_amount(abs(change.delta_ns), change)}, but that can be chance (p = {p:.2g}), "
            "as steps are of several kinds, or too few; capture more of them"
        )
    if detectable > sensitivity_share * change.base_ns:
        return "cannot tell", (
            f"a change below {_describe_amount(detectable, change)} could have gone unnoticed, as {_too_different(sides, change)}"
        )
    return "no change", (
        f"a change of {_describe_amount(detectable, change)} or more would have been found in 9 of 10 such comparisons"
    )


def _judge_sure(sides: tuple[Side, Side], change: Change, p: float, level: float) -> Judgement:
    """Return the verdict on a significant change: "cannot tell" if steps drift by as much, else regression or improvement."""
    drifted = _largest_drift(sides)
    if drifted >= abs(change.delta_ns):
        return "cannot tell", _explain_drift(drifted, change)
    reason = f"permutation test: p = {p:.2g} (threshold {level:g})"
    return ("regression" if change.delta_ns > 0 else "improvement"), reason


def _too_different(sides: tuple[Side, Side], change: Change) -> str:
    """Return a sentence on why a change could not be seen: too few runs, runs that differ, or steps that differ."""
    runs = [len(side.runs) for side in sides]
    detectable = change.base_ns if change.detectable_ns is None else change.detectable_ns
    if _MOSTLY_RUNS * detectable < (change.noise_ns or 0):
        given = "single runs" if runs == [1, 1] else f"{runs[0]} against {some(runs[1], 'run')}"
        return f"{given} of one program may differ as much; give {ENOUGH_RUNS} or more per side"
    if max(runs) > 1:
        return (
            f"the runs of a side differ too much for a comparison of {runs[0]} against {runs[1]}; "
            f"give {ENOUGH_RUNS} or more per side"
        )
    return "steps differ too much among themselves; capture more of them"


def _largest_drift(sides: tuple[Side, Side]) -> int:
    """Return the largest drift of any run on both sides, ns; 0 without one."""
    return max((abs(drift.change_ns) for side in sides for drift in side.drifts), default=0)


def _explain_drift(drifted: int, change: Change) -> str:
    """Return the sentence for steps that drift by `drifted` ns within a run, so that the change cannot be told."""
    return (
        f"steps drift by {duration(drifted)} within a run, and the sides differ by {duration(abs(change.delta_ns))}, "
        "which may depend on the part of a run that was captured; capture the same steps of both, after they have settled"
    )


def _too_few(sides: tuple[Side, Side], level: float) -> str:
    """Return the sentence for sides with too few steps for a test at the level."""
    counted = f"{sides[0].counted} against {sides[1].counted} steps"
    if any(side.windows for side in sides):
        return f"{counted}: no steps were found; mark them, or ingest with --step-range"
    return f"{counted} are too few to show a change at a level of {level:g}; capture more"


def _describe_amount(ns: int, change: Change) -> str:
    """Return the time with its share of the base's step, as text."""
    return f"{duration(ns)} ({share(ns / change.base_ns)})" if change.base_ns else duration(ns)
