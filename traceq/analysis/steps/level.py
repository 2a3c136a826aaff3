"""Levels of recurrence in a trace, before it is known which of them is the step."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from traceq.analysis.nesting.stack import Integers
    from traceq.analysis.steps.recurrence import Recurrence


class StepMark(NamedTuple):
    """A step: from `ts` to the next one's, the last to `own_end`. `excluded` says why it does not count."""

    name: str
    thread_id: int | None
    ts: int
    own_end: int
    excluded: str | None = None


def regroup_marks(marks: list[StepMark], steps_per: Fraction, launched: Integers) -> list[StepMark]:
    """Cut or join `marks` so that each has `steps_per` steps, with equally many of the launches (times, ascending)."""
    if steps_per.denominator > 1:
        return _join_marks(marks, steps_per.denominator)
    ends = [*(mark.ts for mark in marks[1:]), *(mark.own_end for mark in marks[-1:])]
    return [
        part for mark, end in zip(marks, ends, strict=True) for part in _cut_mark(mark, end, int(steps_per), launched)
    ]


def _join_marks(marks: list[StepMark], size: int) -> list[StepMark]:
    """Return the marks that count, `size` of them as one; those that do not count stay alone."""
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
    """Return the mark in equal parts by launches; whole where it has fewer launches than parts."""
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
    """A level of recurrence, as steps.

    `source` as in step.source; `evidence`: what shows that it is the step; `is_sure`: nothing else is likely; `clock`: whether
    its times are the host's or the GPU's; `launches` in each, None where they differ; `share` of launches that recur.
    """

    source: str
    name: str
    marks: list[StepMark]
    evidence: str
    is_sure: bool = True
    clock: str = "host"
    launches: int | None = None
    share: float | None = None


class Annotations(NamedTuple):
    """A row of annotation_level.sql: annotations of one name, up to digits, on one thread."""

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
    """The recurrence of launches, the steps it would be, and how many launches there are in all.

    `layer_evidence`: what shows that its rounds are layers, or parts of a step; empty where nothing does.
    """

    found: Recurrence
    level: StepLevel
    launches: int
    layer_evidence: str = ""

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return sum(part.is_round for part in self.found.parts)

    @property
    def coverage(self) -> float:
        """Share of all launches that lie in whole rounds."""
        return sum(part.last - part.first for part in self.found.parts if part.is_round) / self.launches


def is_layer(annotations: list[Annotations], rounds: int) -> bool:
    """Return whether `rounds` rounds are layers, or parts of a step, by the annotations of layers.

    Names that count up (layers.0, layers.1) come once a pass, and so tell how many passes there are. Those that stay the same
    (attention) come once a layer where about one comes with each round. Another annotation with each round says the contrary.
    """
    if any(not each.is_layer and abs(each.times - rounds) <= 1 for each in annotations):
        return False
    layers = [annotation for annotation in annotations if annotation.is_layer and annotation.times >= rounds / SEVERAL]
    return any(
        rounds > SEVERAL * layer.times / layer.names if layer.names > 1 else layer.times <= SEVERAL * rounds
        for layer in layers
    )
