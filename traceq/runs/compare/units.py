"""Find out whether a step is the same on both sides: only then can its times be set against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import OF_HOST
from traceq.common.units import duration, rate, share
from traceq.runs.compare.same_work import hides_kernels, measure_alike_share
from traceq.runs.compare.side import describe_other_gpu, runs_with_steps, step_ns
from traceq.runs.run import Run

_OTHER_UNIT = 1.8
_SAME_WORK = 0.5
_OF_CHANGE = 0.25  # of the difference of the steps: what does not hang on how the last one ends is three quarters of it
_MATTERS = 0.05  # of a step
_WHOLE_RUN = "whole_run"
_SAID = ("step_range", "mark", "profiler_step", "serving")  # sources of steps that the program calls steps


def find_unlike_units(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each reason why steps of both sides are different units of work; both must have counted steps."""
    base, new = runs_with_steps(base), runs_with_steps(new)
    whole = [all(run.is_window for run in runs) for runs in (base, new)]
    if whole[0] != whole[1]:
        yield (
            f"a step of the {'new' if whole[0] else 'base'} against the whole window of the {'base' if whole[0] else 'new'}, "
            f"in which no steps were found: {_describe_steps(base, new)}; mark them, or ingest with --step-range"
        )
        return
    levels = [sorted({run.unit for run in runs if run.unit is not None and not run.is_window}) for runs in (base, new)]
    if all(levels) and levels[0] != levels[1]:
        first, second = (", ".join(level) for level in levels)
        yield f"a unit of the base is a {first}, of the new a {second}: {_describe_steps(base, new)}"
    yield from _compare_marks(base, new)
    yield from _compare_ends(base, new)


def share_marks(base: Sequence[Run], new: Sequence[Run]) -> bool:
    """Return whether both sides found their steps by the same marks, or both by recurrence, or both have only windows."""
    names, sources = (
        [{getattr(run, name) for run in runs} for runs in (base, new)] for name in ("unit_name", "step_source")
    )
    return sources[0] == sources[1] and (names[0] == names[1] or sources[0] == {"recurrence"})


def _describe_steps(base: Sequence[Run], new: Sequence[Run]) -> str:
    """Return the duration and the mark of a step on each side, as text."""
    return " against ".join(
        f"{duration(round(step_ns(runs, 'typical')))} for {_name_unit(runs)}" for runs in (base, new)
    )


def _name_unit(runs: Sequence[Run]) -> str:
    """Return what a step of the runs is, as text: the names of its marks, else how steps were found.

    "the window" without any.
    """
    if all(run.is_window for run in runs):
        return "the window"
    return ", ".join(sorted({run.unit_name or run.step_source or "a step" for run in runs}))


def _compare_marks(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if the sides found steps by different marks, and a step is 1.8 times as large or does other work."""
    if share_marks(base, new) or {run.unit_name for run in base} & {run.unit_name for run in new} - {None}:
        return
    way_out = "ingest with --step-range or --steps-per so that a step is the same on both sides"
    sizes = [(_count_launches(runs), _sum_busy(runs)) for runs in (base, new)]
    if all(all(size) for size in sizes):
        ratios = [after / before for before, after in zip(*sizes, strict=True)]
        for more, less, times in (("new", "base", min(ratios)), ("base", "new", 1 / max(ratios))):
            if times >= _OTHER_UNIT:
                yield (
                    f"a step of the {more} contains the work of {rate(times)} steps of the {less}, as different marks were "
                    f"used ({_describe_steps(base, new)}); {way_out}"
                )
                return
    alike = None if all(run.step_source in _SAID for run in (*base, *new)) else _measure_alike(base, new)
    if alike is not None and alike < _SAME_WORK:
        yield (
            f"steps were found by different marks ({_describe_steps(base, new)}), and only {share(alike)} of one side's GPU time "
            f"is in work that the other does as often; {way_out}"
        )


def _count_launches(runs: Sequence[Run]) -> float:
    """Return the number of kernels, copies and collectives per counted step, over all runs."""
    steps = sum(len(run.counted) for run in runs)
    items = (item for run in runs for item in run.items if not item.category.startswith(("idle", OF_HOST)))
    return sum(item.every.count for item in items) / steps


def _sum_busy(runs: Sequence[Run]) -> float:
    """Return the GPU's busy time per step, ns, averaged over the runs."""
    steps = sum(len(run.counted) for run in runs)
    return sum(_sum_work(run) for run in runs) / steps


def _sum_work(run: Run) -> int:
    """Return the GPU's busy time over all counted steps of the run, ns."""
    return sum(dur for step in run.counted for name, dur in step.gpu_ledger.items() if not name.startswith("idle"))


def _measure_alike(base: Sequence[Run], new: Sequence[Run]) -> float | None:
    """Return the share of GPU time in the same work, 0..1 (measure_alike_share).

    None where GPUs differ or graphs hide kernels.
    """
    return (
        None
        if describe_other_gpu(base, new) or any(map(hides_kernels, (base, new)))
        else measure_alike_share(base, new)
    )


def find_unlike_windows(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if windows without steps hold different work, so that their durations say nothing.

    Windows that are whole runs of a program are always comparable.
    """
    base, new = runs_with_steps(base), runs_with_steps(new)
    both = (*base, *new)
    if not all(run.is_window for run in both) or all(run.capture.kind == _WHOLE_RUN for run in both):
        return
    alike = _measure_alike(base, new)
    if alike is not None and alike < _SAME_WORK:
        times = (duration(round(step_ns(runs, "typical"))) for runs in (base, new))
        yield (
            f"no steps were found, and the windows, of {' and '.join(times)}, do not contain the same work: only {share(alike)} "
            "of one side's GPU time is in work that the other does as often; mark steps, or ingest with --step-range"
        )


def _compare_ends(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if the GPU idles much longer on one side in the last step before its end, and that may make the change."""
    if all(len(run.counted) == 1 for run in (*base, *new)):
        return
    tails = [sum(run.capture.idle_tail_ns / len(run.counted) for run in runs) / len(runs) for runs in (base, new)]
    steps = [float(step_ns(runs, "mean")) for runs in (base, new)]
    if abs(tails[1] - tails[0]) <= max(_OF_CHANGE * abs(steps[1] - steps[0]), _MATTERS * min(steps)):
        return
    idle = (duration(round(sum(run.capture.idle_tail_ns for run in runs) / len(runs))) for runs in (base, new))
    work = (duration(sum(map(_sum_work, runs))) for runs in (base, new))
    yield (
        f"the last steps end differently: after the mark, the GPU idles for {' against '.join(idle)} before the step's last "
        f"work, which makes the difference of the steps; in all, the GPU works for {' against '.join(work)}"
    )
