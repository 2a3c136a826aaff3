"""Judge changes that the steps do not prove, but that are many times the usual difference of two such runs or windows.

One of three holds: steps are too few for a test (whole windows, single steps); or steps drift on both sides in the same way,
because the program's work changes during the run; or steps scatter, but the part of them that makes the change does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from traceq.common.units import duration, rate, share
from traceq.runs import statistics
from traceq.runs.compare.causes import sum_ledger
from traceq.runs.compare.comparison import Change, Verdict
from traceq.runs.compare.known_noise import KnownNoise, usual_deviation, window_deviation
from traceq.runs.compare.same_work import measure_alike_share
from traceq.runs.compare.side import step_durations
from traceq.runs.compare.units import share_marks
from traceq.runs.run import Run
from traceq.runs.statistics import Statistic

FACTOR = 5.0
"""A change is likely from this many standard deviations of the difference between two runs or windows.

The assumed noise fits no machine exactly: with twice as much noise, the change is still 2.5 standard deviations.
"""
LEAST = 0.05
"""A change is likely only from this share of the base."""

_LEAST_WORK = 0.5  # of the GPU's time, in what both sides do as often
_FOREIGN = 0.1  # of its time, in what other steps launched
_LEAST_COURSE = 20  # steps
_SAME_COURSE = 0.9  # rank correlation of the steps of both sides, in their order
_STRETCHES = 8
_AGAINST = 0.2  # of the change: what stretches of a course may go the other way
_CHANCE = 5  # times the level: steps that differ as much by chance more often say nothing
_MOSTLY = 0.5  # of the change
_MANY_TIMES = math.exp(FACTOR * math.sqrt(2) * 0.5)
"""One-off work is taken to vary by half (the standard deviation of its logarithm), so 34 times is not chance."""

# Parts of a run: what is missing of them makes a difference, too (table triage).
_FRAGMENTS = ("graph_capture", "devices_missing", "cut", "sampled", "lost", "clocks", "no_unit", "stopped")


class Likely(NamedTuple):
    """A likely verdict, its reason, and the statistic by which the step was judged."""

    verdict: Verdict
    reason: str
    statistic: Statistic


class _OneOff(NamedTuple):
    """One-off work (loading and compiling code, first calls) of a window on both sides, ns.

    `is_over`: one side has next to none, as after a warm-up; that is no chance.
    """

    base: float
    new: float

    @property
    def delta(self) -> float:
        """The one-off work of the new side less the base's, ns."""
        return self.new - self.base

    @property
    def is_over(self) -> bool:
        """Whether one side has over 34 times the one-off work of the other, which is no chance (as after a warm-up)."""
        return max(self) > _MANY_TIMES * min(self)


def judge_likely(
    base: Sequence[Run],
    new: Sequence[Run],
    changes: Mapping[Statistic, Change],
    statistic: Statistic,
    intervals: Mapping[str, tuple[int, int]],
    noise: KnownNoise | None,
    level: float,
) -> Likely | None:
    """Return a likely verdict on comparable sides whose steps prove no change; None if no change is likely.

    `changes` are those of the step by each statistic; `statistic` says which is judged. `intervals` are those of the
    ledger categories, ns.
    """
    change = changes[statistic]
    if change.p is None or statistics.least_p(_count_steps(base), _count_steps(new)) > level:
        return _judge_windows(base, new, change, noise)
    return _judge_courses(base, new, changes["mean"], noise) or _judge_by_part(
        base, new, change, intervals, noise, level
    )


def explain_one_off(base: Sequence[Run], new: Sequence[Run], change: Change) -> str | None:
    """Return a sentence where most of the change of single windows is one-off work, which both sides have.

    None otherwise.
    """
    once = _measure_one_off(base, new)
    if once is None or not min(once) or once.delta * change.delta_ns <= 0:
        return None
    if not _MOSTLY <= once.delta / change.delta_ns <= 1 / _MOSTLY:
        return None
    rest = (duration(round(ns - each)) for ns, each in zip((change.base_ns, change.new_ns), once, strict=True))
    return (
        "most of the difference is one-off work (loading and compiling code, first calls), "
        f"{_describe_sides(once)}, which can vary as much from run to run; without it {' against '.join(rest)} remain; "
        "warm up before the capture"
    )


def _judge_windows(base: Sequence[Run], new: Sequence[Run], change: Change, noise: KnownNoise | None) -> Likely | None:
    """Judge sides with too few steps for a test, by the assumed noise of single windows of the same work; None if not likely."""
    once = _measure_one_off(base, new)
    if once is None or not _is_same_work(base, new) or not _is_apart(base, new):
        return None
    sides = [
        _subtract_one_off(_read_ledger(runs, change.statistic), ns) for runs, ns in zip((base, new), once, strict=True)
    ]
    deviation = window_deviation(_average_parts(*sides), 0.0 if once.is_over else sum(once) / 2) * _widening_factor(
        base, new
    )
    if noise is not None and noise.share is not None:
        deviation = max(deviation, _deviate_by_runs(base, new, change, noise))
    if abs(change.delta_ns) < LEAST * change.base_ns or _subtract_stalls(base, new, change, once) < FACTOR * deviation:
        return None
    times = rate(abs(change.delta_ns) / deviation) if deviation else "many"
    reason = (
        f"{_count_steps(base)} against {_count_steps(new)} steps are too few for a test, but the change is {times} times what "
        f"single steps of the same work are expected to differ by, {duration(round(deviation))} (standard deviation)"
    )
    if once.is_over and 2 * abs(once.delta) >= abs(change.delta_ns):
        reason = (
            f"one-off work (loading and compiling code, first calls) took {_describe_sides(once)}; without it "
            f"{duration(round(change.base_ns - once.base))} against {duration(round(change.new_ns - once.new))} remain; if both "
            "run the same program, that is its warm-up"
        )
    return Likely(_choose_verdict(change.delta_ns), reason, change.statistic)


def _subtract_one_off(parts: Mapping[str, float], once_ns: float) -> dict[str, float]:
    """Return the parts of a step without one-off work: each idle category, in which it is spent, shrinks by the same share."""
    idle = sum(dur for name, dur in parts.items() if name.startswith("idle_"))
    rest = max(1 - once_ns / idle, 0.0) if idle else 1.0
    return {name: dur * rest if name.startswith("idle_") else dur for name, dur in parts.items()}


def _average_parts(base: Mapping[str, float], new: Mapping[str, float]) -> dict[str, float]:
    """Return the mean of both sides' time in each ledger category, ns; a category missing on a side counts as 0."""
    return {name: (base.get(name, 0.0) + new.get(name, 0.0)) / 2 for name in sorted({*base, *new})}


def _subtract_stalls(base: Sequence[Run], new: Sequence[Run], change: Change, once: _OneOff) -> float:
    """Return the size of the change, ns, without what a few long stalls make, which a single window has by chance.

    It is negative where the stalls and the one-off work make more than the change.
    """
    sign = 1 if change.delta_ns > 0 else -1
    waits = [sum(run.capture.longest_waits_ns for run in runs) / len(runs) for runs in (base, new)]
    stalls = max(0.0, sign * (waits[1] - waits[0]))
    if not once.is_over:
        return sign * change.delta_ns - stalls
    rest = sign * (change.delta_ns - once.delta)
    return sign * once.delta + (max(rest - stalls, 0.0) if rest > 0 else rest)


def _measure_one_off(base: Sequence[Run], new: Sequence[Run]) -> _OneOff | None:
    """Return the mean one-off work of both sides, ns.

    None where a run does not say how much it is, or is only part of a run.
    """
    sides = []
    for runs in (base, new):
        times = [run.capture.once_ns for run in runs if run.capture.kind not in _FRAGMENTS]
        known = [time for time in times if time is not None]
        if len(known) < len(runs):
            return None
        sides.append(sum(known) / len(runs))
    return _OneOff(*sides)


def _is_same_work(base: Sequence[Run], new: Sequence[Run]) -> bool:
    """Return whether both sides' steps have the same marks and launch mostly the same work.

    False where over a tenth of a run's busy time in counted steps was launched by other steps.
    """
    if any(run.capture.foreign_ns > _FOREIGN * _sum_busy(run) for run in (*base, *new)):
        return False
    # Other shapes are other sizes.
    alike = measure_alike_share(base, new, by_shape=True)
    return share_marks(base, new) and alike is not None and alike >= _LEAST_WORK


def _sum_busy(run: Run) -> int:
    """Return the GPU's busy time over all counted steps of the run, ns."""
    return sum(dur for step in run.counted for name, dur in step.gpu_ledger.items() if not name.startswith("idle_"))


def _is_apart(base: Sequence[Run], new: Sequence[Run]) -> bool:
    """Return whether every step of one side is longer than every step of the other."""
    first, second = (np.concatenate([step_durations(run) for run in runs]) for runs in (base, new))
    return bool(first.max() < second.min() or second.max() < first.min())


def _judge_courses(base: Sequence[Run], new: Sequence[Run], change: Change, noise: KnownNoise | None) -> Likely | None:
    """Judge two single runs of equally many steps whose durations follow the same course; None if no change is likely."""
    if len(base) > 1 or len(new) > 1 or _count_steps(base) != _count_steps(new) or _count_steps(base) < _LEAST_COURSE:
        return None
    first, second = step_durations(base[0]), step_durations(new[0])
    if not _is_same_work(base, new) or statistics.rank_correlation(first, second) < _SAME_COURSE:
        return None
    against = [float(part.sum()) for part in np.array_split(second - first, _STRETCHES)]
    total = sum(against)
    turned = abs(sum(each for each in against if each * total < 0))
    deviation = _deviate_by_runs(base, new, change, noise)
    if turned > _AGAINST * abs(total) or abs(change.delta_ns) < max(LEAST * change.base_ns, FACTOR * deviation):
        return None
    return Likely(
        _choose_verdict(change.delta_ns),
        f"steps change during a run, but in the same way on both sides: all {_count_steps(base)} steps take "
        f"{duration(round(float(first.sum())))} against {duration(round(float(second.sum())))}, and the difference is "
        f"{_count_deviations(change, deviation)} the run-to-run noise (standard deviation)",
        "mean",
    )


def _judge_by_part(
    base: Sequence[Run],
    new: Sequence[Run],
    change: Change,
    intervals: Mapping[str, tuple[int, int]],
    noise: KnownNoise | None,
    level: float,
) -> Likely | None:
    """Judge a change that scattering steps narrowly fail to prove, if one category surely changed and makes most of it.

    None if no change is likely.
    """
    is_open = change.p is not None and level < change.p <= _CHANCE * level
    if not is_open or any(statistics.find_drift(step_durations(run)) for run in (*base, *new)):
        return None
    deviation = _deviate_by_runs(base, new, change, noise)
    if abs(change.delta_ns) < max(LEAST * change.base_ns, FACTOR * deviation):
        return None
    sides = [_read_ledger(runs, change.statistic) for runs in (base, new)]
    for name, (low, high) in intervals.items():
        delta = sides[1].get(name, 0.0) - sides[0].get(name, 0.0)
        is_sure = low > 0 if change.delta_ns > 0 else high < 0
        if is_sure and delta * change.delta_ns > 0 and abs(delta) >= _MOSTLY * abs(change.delta_ns):
            return Likely(
                _choose_verdict(change.delta_ns),
                f"steps scatter, so chance alone could explain the difference (p = {change.p:.2g}, threshold {level:g}); but "
                f"{name} certainly changed, by {share(abs(delta / change.delta_ns))} of the difference, which is "
                f"{_count_deviations(change, deviation)} the run-to-run noise (standard deviation)",
                change.statistic,
            )
    return None


def _count_deviations(change: Change, deviation: float) -> str:
    """Return the size of the change in standard deviations, as text ("7.1 times")."""
    return f"{rate(abs(change.delta_ns) / deviation)} times" if deviation else "many times"


def _deviate_by_runs(base: Sequence[Run], new: Sequence[Run], change: Change, noise: KnownNoise | None) -> float:
    """Return the standard deviation of the difference between two sides that run the same program, ns."""
    parts = _average_parts(*(_read_ledger(runs, change.statistic) for runs in (base, new)))
    return usual_deviation(noise or KnownNoise(None), (change.base_ns + change.new_ns) / 2, parts) * _widening_factor(
        base, new
    )


def _widening_factor(base: Sequence[Run], new: Sequence[Run]) -> float:
    """Return the ratio of the standard deviation of the sides' difference to the one of a single run."""
    return math.sqrt(1 / len(base) + 1 / len(new))


def _read_ledger(runs: Sequence[Run], statistic: Statistic) -> dict[str, float]:
    """Return the ledger of the step averaged over the runs, ns by category."""
    return {name: float(dur) for name, dur in sum_ledger(runs, statistic).items()}


def _count_steps(runs: Sequence[Run]) -> int:
    """Return the number of counted steps of all runs."""
    return sum(len(run.counted) for run in runs)


def _describe_sides(once: _OneOff) -> str:
    """Return the one-off work of both sides as text, for a sentence."""
    return f"{duration(round(once.base))} of the base and {duration(round(once.new))} of the new"


def _choose_verdict(delta_ns: int) -> Verdict:
    """Return the likely verdict for the sign of the change."""
    return "likely regression" if delta_ns > 0 else "likely improvement"
