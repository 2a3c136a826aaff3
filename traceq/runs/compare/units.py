"""Whether a step is the same on both sides: only then can its times be set against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import duration, rate, share
from traceq.runs.compare.same_work import alike_share
from traceq.runs.compare.side import step_ns, usable
from traceq.runs.run import Run

_OTHER_UNIT = 1.8
_SAME_WORK = 0.5
_OF_CHANGE = 0.25  # of the difference of the steps: what does not hang on how the last one ends is three quarters of it
_MATTERS = 0.05  # of a step
_WHOLE_RUN = "whole_run"


def unlike_units(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Why a step of the sides, which both have some that count, is not the same; nothing where it is."""
    base, new = usable(base), usable(new)
    whole = [all(run.is_window for run in runs) for runs in (base, new)]
    if whole[0] != whole[1]:
        yield (
            f"a step of the {'new' if whole[0] else 'base'} against the whole window of the {'base' if whole[0] else 'new'}, "
            f"in which no steps were found: {_each(base, new)}; mark them, or ingest with --step-range"
        )
        return
    levels = [sorted({run.unit for run in runs if run.unit is not None and not run.is_window}) for runs in (base, new)]
    if all(levels) and levels[0] != levels[1]:
        first, second = (", ".join(level) for level in levels)
        yield f"a step is a {first} against a {second}: {_each(base, new)}"
    yield from _other_marks(base, new)
    yield from _other_ends(base, new)


def are_named_alike(base: Sequence[Run], new: Sequence[Run]) -> bool:
    """Whether steps were found by the same marks, or by what recurs, or there are only windows."""
    names, sources = (
        [{getattr(run, name) for run in runs} for runs in (base, new)] for name in ("unit_name", "step_source")
    )
    return sources[0] == sources[1] and (names[0] == names[1] or sources[0] == {"recurrence"})


def _each(base: Sequence[Run], new: Sequence[Run]) -> str:
    """What a step takes on either side, and what it is."""
    return " against ".join(f"{duration(round(step_ns(runs, 'typical')))} for {_unit(runs)}" for runs in (base, new))


def _unit(runs: Sequence[Run]) -> str:
    if all(run.is_window for run in runs):
        return "the window"
    return ", ".join(sorted({run.unit_name or run.step_source or "a step" for run in runs}))


def _other_marks(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Steps found by other marks and several times as large."""
    names = [{run.unit_name or run.step_source for run in runs} for runs in (base, new)]
    if names[0] & names[1]:
        return
    ratios = []
    for sizes in ([_launched(runs) for runs in (base, new)], [_busy(runs) for runs in (base, new)]):
        if not all(sizes):
            return
        ratios.append(sizes[1] / sizes[0])
    for more, less, times in (("new", "base", min(ratios)), ("base", "new", 1 / max(ratios))):
        if times >= _OTHER_UNIT:
            yield (
                f"a step of the {more} holds the work of {rate(times)} of the {less}: they are found by other marks "
                f"({_each(base, new)}); ingest with --step-range or --steps-per so that a step is the same on both sides"
            )


def _launched(runs: Sequence[Run]) -> float:
    """Kernels, copies and collectives that begin in a step."""
    steps = sum(len(run.counted) for run in runs)
    return sum(item.every.count for run in runs for item in run.items if not item.category.startswith("idle")) / steps


def _busy(runs: Sequence[Run]) -> float:
    """Time of a step in which the GPU works, ns."""
    steps = sum(len(run.counted) for run in runs)
    return sum(_work(run) for run in runs) / steps


def _work(run: Run) -> int:
    return sum(dur for step in run.counted for name, dur in step.ledger.items() if not name.startswith("idle"))


def other_windows(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Windows without steps that hold other amounts of work: how long they are says when was captured.

    A whole run of a program is a unit, whatever it launches. Another GPU has other kernels.
    """
    base, new = usable(base), usable(new)
    both = (*base, *new)
    vendors = {run.capture.vendor for run in both}
    if (
        not all(run.is_window for run in both)
        or all(run.capture.kind == _WHOLE_RUN for run in both)
        or len(vendors) > 1
    ):
        return
    alike = alike_share(base, new)
    if alike is not None and alike < _SAME_WORK:
        times = (duration(round(step_ns(runs, "typical"))) for runs in (base, new))
        yield (
            f"the windows, in which no steps were found, of {' and '.join(times)}, do not hold the same work: {share(alike)} of "
            "the GPU's time on one side is in what the other does as often; mark steps, or ingest with --step-range"
        )


def _other_ends(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """A last step that lasts until the GPU has done what it launched, most of it idle, where that makes the difference."""
    tails = [sum(run.capture.idle_tail_ns / len(run.counted) for run in runs) / len(runs) for runs in (base, new)]
    steps = [float(step_ns(runs, "mean")) for runs in (base, new)]
    if abs(tails[1] - tails[0]) <= max(_OF_CHANGE * abs(steps[1] - steps[0]), _MATTERS * min(steps)):
        return
    idle = (duration(round(sum(run.capture.idle_tail_ns for run in runs) / len(runs))) for runs in (base, new))
    work = (duration(sum(map(_work, runs))) for runs in (base, new))
    yield (
        f"the last steps do not end alike: after its mark the GPU idles for {' against '.join(idle)} before the last work of "
        f"the step, and the steps differ by that; the GPU works for {' against '.join(work)} in all"
    )
