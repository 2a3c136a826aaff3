"""Which value of the knob a run has, and what work a step of it does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from traceq.runs.made_with import differences, is_turned
from traceq.runs.run import Run
from traceq.runs.tradeoff.tradeoff import Taken

# Amounts of work, by the names that marks usually have; the first that every run has is the knob.
AMOUNTS = ("batch_size", "samples", "tokens", "sequences")
# What throughput counts, if a run says it.
_WORKS = ("samples", "tokens")
STEPS = "steps"
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")

# Means over steps of different size scatter; what differs by less is the same value, or the same ratio.
_SAME = 0.01
# Work that no step does: what a mark says is not checked where it is read.
_MOST = 1e18


def marked(runs: Sequence[Run]) -> list[str]:
    """What the marks of every run count per step, more than nothing; the usual names of amounts first."""
    counted = [{key for key, work in run.payload.items() if 0 < work < _MOST} for run in runs]
    keys = set.intersection(*counted) if counted else set()
    return sorted(keys, key=lambda key: (AMOUNTS.index(key) if key in AMOUNTS else len(AMOUNTS), key))


def usual_knob(runs: Sequence[Run]) -> str | None:
    """The first of AMOUNTS that every run counts."""
    return next((key for key in marked(runs) if key in AMOUNTS), None)


def taken_by_marks(runs: Sequence[Run], knob: str) -> list[Taken]:
    """Every run with its mean work per step; values within 1 % of one another become one, their mean."""
    ordered = sorted(runs, key=lambda run: run.payload[knob])
    groups: list[list[Run]] = []
    for run in ordered:
        if groups and run.payload[knob] <= groups[-1][0].payload[knob] * (1 + _SAME):
            groups[-1].append(run)
        else:
            groups.append([run])
    means = {id(run): _mean([each.payload[knob] for each in group]) for group in groups for run in group}
    return [Taken(means[id(run)], run) for run in runs]


def taken_by_snapshots(runs: Sequence[Run], knob: str | None = None) -> tuple[str, list[Taken]] | None:
    """The one knob of numbers in which runs differ by what they were made with, or `knob`, and the runs with its values."""
    found: dict[str, list[float]] = {}
    for each in differences([[run] for run in runs]):
        texts = [values[0] for values in each.values]
        if (is_turned(each) if knob is None else each.name == knob) and all(map(_NUMBER.fullmatch, texts)):
            found[each.name] = [float(text) for text in texts]
    if len(found) != 1:
        return None
    ((name, values),) = found.items()
    return name, [Taken(value, run) for value, run in zip(values, runs, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)


def usual_work(taken: Sequence[Taken], knob: str) -> str:
    """What throughput counts when nobody says: the knob if it is counted work, else samples, tokens, the batch, steps."""
    keys = marked([each.run for each in taken])
    has_values = all(each.value is not None for each in taken)
    if knob in AMOUNTS[1:] and has_values:
        return knob
    for key in _WORKS:
        if key in keys:
            return key
    return knob if knob in AMOUNTS and has_values else STEPS


def is_amount(taken: Sequence[Taken], knob: str, work: str) -> bool:
    """Whether the knob is an amount of work: by its name, by being marked, or because work grows with it in proportion."""
    if any(each.value == 0 for each in taken):
        return False
    if knob in AMOUNTS or knob in marked([each.run for each in taken]):
        return True
    ratios = [each.run.payload.get(work, 0.0) / each.value for each in taken if each.value]
    several = len({each.value for each in taken}) > 1
    return several and len(ratios) == len(taken) and 0 < max(ratios) <= min(ratios) * (1 + _SAME)


def work_of(taken: Taken, knob: str, work: str) -> float:
    """Work per step: as the run's marks say, else the value of the knob, else the step itself."""
    if 0 < taken.run.payload.get(work, 0.0) < _MOST:
        return taken.run.payload[work]
    return taken.value if work == knob and taken.value is not None else 1.0
