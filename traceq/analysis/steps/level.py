"""Levels of recurrence in a trace, before it is known which of them is the step, and the numbers of steps (decision 0038)."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from traceq.analysis.nesting.stack import Integers
    from traceq.analysis.steps.recurrence import Recurrence


class StepMark(NamedTuple):
    """A step: it lasts from `ts` to the `ts` of the next step, the last one to `own_end`; ns.

    `excluded` says why it is not counted; None if it is a counted step. `number` is its number in the trace that `traceq trim`
    cut this one from; None if it was not trimmed.
    """

    name: str
    thread_id: int | None
    ts: int
    own_end: int
    excluded: str | None = None
    number: int | None = None


def regroup_marks(marks: list[StepMark], steps_per: Fraction, launched: Integers) -> list[StepMark]:
    """Return the marks cut or joined into steps, given that there are `steps_per` steps in each mark.

    For 2 each mark is cut into two with equally many launches, for 1/2 two marks are joined. `launched` are the times of all
    launches, ns, ascending.
    """
    if steps_per.denominator > 1:
        return _join_marks(marks, steps_per.denominator)
    ends = [*(mark.ts for mark in marks[1:]), *(mark.own_end for mark in marks[-1:])]
    return [
        part for mark, end in zip(marks, ends, strict=True) for part in _cut_mark(mark, end, int(steps_per), launched)
    ]


def _join_marks(marks: list[StepMark], size: int) -> list[StepMark]:
    """Return the counted marks joined, `size` at a time; excluded marks stay as they are.

    If fewer than `size` are left before an excluded mark or the end, they become an excluded step.
    """
    joined: list[StepMark] = []
    for excluded, alike in groupby(marks, key=lambda mark: mark.excluded):
        group = list(alike)
        for first in range(0, len(group), 1 if excluded else size):
            part = group[first : first + (1 if excluded else size)]
            is_whole = excluded or len(part) == size
            joined.append(
                part[0]._replace(
                    own_end=part[-1].own_end,
                    excluded=excluded if is_whole else "incomplete: fewer units than --steps-per requires",
                )
            )
    return joined


def _cut_mark(mark: StepMark, end: int, parts: int, launched: Integers) -> list[StepMark]:
    """Return the mark, which lasts to `end` (ns), cut into `parts` with equally many launches.

    It stays uncut where it has fewer launches than parts. `launched` are the times of all launches, ns.
    """
    first, last = np.searchsorted(launched, [mark.ts, end])
    if last - first < parts:
        return [mark]
    places = [int(first) + (int(last) - int(first)) * part // parts for part in range(1, parts)]
    borders = [mark.ts, *(int(launched[place]) for place in places)]
    return [
        mark._replace(ts=ts, own_end=until) for ts, until in zip(borders, [*borders[1:], mark.own_end], strict=True)
    ]


# So many of one in each of the other are another level; fewer are the same, cut at an end.
SEVERAL = 1.5


class StepLevel(NamedTuple):
    """A level of recurrence, taken as the steps.

    `source` is as in step.source; `evidence` is words for what shows that this level is the step; `is_sure` is whether
    nothing else is likely; `clock` is "host" or "gpu", whose times they are; `launches` is their number in each step, None
    where they differ; `share` of launches recur (0..1).
    """

    source: str
    name: str
    marks: list[StepMark]
    evidence: str
    is_sure: bool = True
    clock: str = "host"
    launches: int | None = None
    share: float | None = None


_NAME = re.compile(r"(.*?)(?<!\d)(\d{1,10})(\D*)", re.DOTALL)
# Whose names are the program's; numbers in those of a server are sizes, the others are traceq's words.
_NAMED = {"mark", "profiler_step", "step_range", "annotation"}
# Without a # before it a number may be a size: fewer that rise are a coincidence.
_LEAST_NUMBERED = 3
# Steps are seldom counted by this or a larger power of two, but sizes are.
_SIZE_INCREMENT = 8
# The ledger's sweep takes a number above all steps.
_HIGHEST = 2**31 - 2


def number_steps(level: StepLevel) -> list[int]:
    """Return the number of each step, in the order of time: rising, and at least 0.

    It is the number in the whole trace for one that was trimmed, else the program's, else traceq counts from 0.
    """
    whole = [mark.number for mark in level.marks if mark.number is not None]
    for numbers in (whole, _numbers_in_names(level)):
        is_rising = all(number < later for number, later in pairwise(numbers))
        if len(numbers) == len(level.marks) and is_rising and all(0 <= number <= _HIGHEST for number in numbers):
            return numbers
    return list(range(len(level.marks)))


def _numbers_in_names(level: StepLevel) -> list[int]:
    """Return the last number in the name of each step; empty where names differ in more, or the number may be another."""
    found = [_NAME.fullmatch(mark.name) for mark in level.marks]
    parts = [match.groups() for match in found if match]
    around = {(before, after) for before, _, after in parts}
    if level.source not in _NAMED or len(parts) < len(found) or len(around) != 1:
        return []
    ((before, _),) = around
    numbers = [int(number) for _, number, _ in parts]
    return numbers if before.endswith("#") or _are_counted(numbers) else []


def _are_counted(numbers: list[int]) -> bool:
    """Return whether at least three numbers mostly differ by the same amount, as counters do and sizes (32, 64, 128) do not."""
    if len(numbers) < _LEAST_NUMBERED:
        return False
    increments = Counter(later - number for number, later in pairwise(numbers))
    increment, times = increments.most_common(1)[0]
    is_power_of_two = increment & (increment - 1) == 0
    return times > len(numbers[1:]) / 2 and not (is_power_of_two and increment >= _SIZE_INCREMENT)


class Annotations(NamedTuple):
    """Annotations of a name (up to digits) on a thread: a row of annotation_level.sql.

    `times` is how many there are, `names` how many names differ in digits; `coverage` and `busy_share` are the shares (0..1) of
    launches and of GPU time in them; `total` and `period` are in ns.
    """

    thread_id: int
    pattern: str
    times: int
    names: int
    is_layer: bool
    is_epoch: bool
    is_step_word: bool
    is_pass_word: bool
    is_unit_word: bool
    coverage: float
    busy_share: float
    updates: int
    fetches: int
    total: int
    period: int


class LaunchLoop(NamedTuple):
    """The recurrence of launches, the steps that it would make, and the number of all launches.

    `layer_evidence` is words for what shows that its rounds are layers, or parts of a step; empty if nothing does.
    """

    found: Recurrence
    level: StepLevel
    launches: int
    layer_evidence: str = ""

    @property
    def rounds(self) -> int:
        """The number of rounds of the recurrence."""
        return sum(part.is_round for part in self.found.parts)

    @property
    def coverage(self) -> float:
        """The share of all launches that lie in whole rounds (0..1)."""
        return sum(part.last - part.first for part in self.found.parts if part.is_round) / self.launches


def is_layer(annotations: list[Annotations], rounds: int) -> bool:
    """Return whether rounds of launches (`rounds` is their number) are layers or parts of a step, by annotations of layers.

    Names that count up (layers.0, layers.1) come once per pass, and so give the number of passes. An unchanging name
    (attention) comes once per layer, if about as often as rounds. Another annotation in each round shows the contrary.
    """
    if any(not annotation.is_layer and abs(annotation.times - rounds) <= 1 for annotation in annotations):
        return False
    layers = [annotation for annotation in annotations if annotation.is_layer and annotation.times >= rounds / SEVERAL]
    return any(
        rounds > SEVERAL * layer.times / layer.names if layer.names > 1 else layer.times <= SEVERAL * rounds
        for layer in layers
    )
