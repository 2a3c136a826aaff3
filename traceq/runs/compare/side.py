"""A side of a comparison: the runs that are pooled, which of their time is a step, and oddities of their steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import floor

import numpy as np
from msgspec.structs import replace

from traceq.common.units import some
from traceq.runs import statistics
from traceq.runs.compare.comparison import Drift, OutlierStep, Side
from traceq.runs.run import Amount, Item, Run, RunStep
from traceq.runs.statistics import Statistic


def describe_side(runs: Sequence[Run]) -> Side:
    """Return a side of a comparison: the runs, their numbers of steps, and drifts and outliers of these."""
    return Side(
        runs=tuple(runs),
        counted=sum(len(run.counted) for run in runs),
        excluded=sum(len(run.steps) - len(run.counted) for run in runs),
        windows=sum(run.is_window for run in runs),
        drifts=tuple(_find_drifts(runs)),
        outliers=tuple(_find_outliers(runs)),
    )


def are_same_files(base: Sequence[Run], new: Sequence[Run]) -> bool:
    """Return whether both sides are the same files, byte for byte, with the same rank and steps."""
    first, second = (sorted(runs, key=lambda run: (run.sha256, run.rank or 0)) for runs in (base, new))
    return [(run.sha256, run.rank, run.steps) for run in first] == [(run.sha256, run.rank, run.steps) for run in second]


def drop_duplicates(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with every trace (and rank) only once, in order, so that a repeated one does not pass for several runs."""
    return list({(run.sha256, run.rank): run for run in reversed(runs)}.values())[::-1]


def describe_duplicates(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each trace (and rank) that is given more than once."""
    times = Counter((run.sha256, run.rank) for run in runs)
    for run in drop_duplicates(runs):
        if times[run.sha256, run.rank] > 1:
            yield f"{run.file} is given {times[run.sha256, run.rank]} times and counts once"


def explain_left_out(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each reason why steps are excluded, with the number of steps."""
    reasons = Counter(step.excluded for run in runs for step in run.steps if step.excluded is not None)
    for reason, steps in reasons.items():
        yield f"{some(steps, 'step')} left out ({reason})"


def runs_with_steps(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that have counted steps, in order."""
    return [run for run in runs if run.counted]


def steps_of(run: Run, statistic: Statistic) -> tuple[RunStep, ...]:
    """Return the steps over which the statistic averages: the middle half of counted steps for `typical`, else all counted."""
    return run.typical if statistic == "typical" else run.counted


def amount_of(item: Item, statistic: Statistic) -> Amount:
    """Return the item's amount over the steps that the statistic averages: the middle half for `typical`, else all counted."""
    return item.typical if statistic == "typical" else item.every


def step_weight(run: Run, runs: Sequence[Run], statistic: Statistic) -> Fraction:
    """Return the weight of one step of `run` in the step averaged over `runs`; all runs weigh the same."""
    return Fraction(1, len(runs) * len(steps_of(run, statistic)))


def step_ns(runs: Sequence[Run], statistic: Statistic) -> Fraction:
    """Return the step averaged over the runs by the statistic, ns, exactly."""
    return sum(
        (step_weight(run, runs, statistic) * sum(step.dur for step in steps_of(run, statistic)) for run in runs),
        Fraction(0),
    )


def step_durations(run: Run) -> statistics.Floats:
    """Return the durations of counted steps in the order of time, ns."""
    return np.array([step.dur for step in run.counted], dtype=np.float64)


def _find_drifts(runs: Sequence[Run]) -> Iterator[Drift]:
    """Yield each run whose steps surely get longer or shorter over its course."""
    for run in runs:
        found = statistics.find_drift(step_durations(run))
        if found:
            yield Drift(run.file, round(found[0]), found[1])


def _find_outliers(runs: Sequence[Run]) -> Iterator[OutlierStep]:
    """Yield each counted step that is much longer than the others of its run."""
    for run in runs:
        values = step_durations(run)
        for place in statistics.find_outliers(values):
            step = run.counted[place]
            yield OutlierStep(run.file, step.step, step.name, step.dur, round(float(np.median(values))))


def round_parts(parts: Sequence[Fraction], total: int) -> list[int]:
    """Return the parts rounded to integers that add up to `total`, the rounded sum; largest remainders are rounded up.

    Raises ValueError when `total` differs from the sum by more than 1.
    """
    if abs(sum(parts, Fraction(0)) - total) > 1:
        raise ValueError(f"parts that add up to {float(sum(parts))} cannot be rounded to {total}")
    down = [floor(part) for part in parts]
    missing = total - sum(down)
    order = sorted(range(len(parts)), key=lambda place: (down[place] - parts[place], place))
    # The sum may have been rounded down below the sum of what was rounded down, or up beyond all that can go up.
    if missing < 0:
        order.reverse()
    for number in range(abs(missing)):
        down[order[number % len(order)]] += 1 if missing > 0 else -1
    return down


def kinds_of(runs: Sequence[Run]) -> dict[str, int]:
    """Return the number of counted steps by kind; empty unless every step has a kind, as only those of servers do."""
    steps = [step for run in runs for step in run.counted]
    counted = Counter(step.kind for step in steps if step.kind is not None)
    return dict(counted) if counted.total() == len(steps) else {}


def common_kinds(base: Sequence[Run], new: Sequence[Run]) -> list[str]:
    """Return the kinds of steps that every run of both sides has, in alphabetical order."""
    each = [kinds_of([run]).keys() for run in (*base, *new)]
    return sorted(set.intersection(*map(set, each))) if each else []


def keep_kind(run: Run, kind: str) -> Run:
    """Return the run with only the steps and items of that kind.

    Input shapes are dropped: they differ from step to step, and the kind already says which work it is.
    """
    return replace(
        run,
        steps=tuple(step for step in run.steps if step.kind == kind),
        items=tuple(item for item in run.items if item.kind == kind),
        shapes={},
    )


_MAKERS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}


def describe_other_gpu(base: Sequence[Run], new: Sequence[Run]) -> str | None:
    """Return the GPUs of both sides as text ("A against B") if they differ; None if they are the same or not known."""
    names = [_sort_distinct(run.device_name for run in runs) for runs in (base, new)]
    makers = [_sort_distinct(_MAKERS.get(run.capture.vendor or "") for run in runs) for runs in (base, new)]
    if all(names) and names[0] != names[1]:
        return " against ".join(map(", ".join, names))
    if all(makers) and makers[0] != makers[1]:
        sides = zip(names, makers, strict=True)
        return " against ".join(
            ", ".join(name or [f"one of {maker[0]} (name not in the trace)"]) for name, maker in sides
        )
    return None


def _sort_distinct(values: Iterable[str | None]) -> list[str]:
    """Return the distinct values in alphabetical order, without None."""
    return sorted({value for value in values if value is not None})
