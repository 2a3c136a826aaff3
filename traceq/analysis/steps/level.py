"""Levels of recurrence in a trace, before it is known which of them is the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from traceq.analysis.steps.recurrence import Recurrence
    from traceq.analysis.steps.step_mark import Mark

# So many of one in each of the other are another level; fewer are the same, cut at an end.
SEVERAL = 1.5


class Level(NamedTuple):
    """Something that recurs, as steps.

    `source` as in step.source; `evidence`: what shows that it is the step; `is_sure`: nothing else is likely; `clock`: whether
    its times are the host's or the GPU's; `launches` in each, None where they differ; `share` of launches that recur.
    """

    source: str
    name: str
    marks: list[Mark]
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


class Loop(NamedTuple):
    """The recurrence of launches, the steps it would be, and how many launches there are in all.

    `layer_evidence`: what shows that its rounds are layers, or parts of a step; empty where nothing does.
    """

    found: Recurrence
    level: Level
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
    layers = [each for each in annotations if each.is_layer and each.times >= rounds / SEVERAL]
    return any(
        rounds > SEVERAL * each.times / each.names if each.names > 1 else each.times <= SEVERAL * rounds
        for each in layers
    )
