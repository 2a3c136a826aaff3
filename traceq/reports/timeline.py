"""A stretch of a trace as it is drawn: lanes of spans, small enough to be sent. Times are ns from its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Span:
    """A slice, or `slices` of them that would be drawn as one; then kind and name are those of the longest.

    `kind` is what it is coloured by, `depth` how deep it nests, `is_culprit` whether a finding points at it.
    """

    ts: int
    dur: int
    name: str
    kind: str
    depth: int
    slices: int
    is_culprit: bool = False


@dataclass(frozen=True)
class Lane:
    """A thread of the host, a stream of a GPU, or what traceq says of the time."""

    label: str
    side: Literal["host", "gpu", "ledger"]
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Mark:
    """A stretch to look at, and why."""

    ts: int
    dur: int
    text: str


@dataclass(frozen=True)
class Timeline:
    """What happened within `dur` ns from `ts` (ns of the trace's clock). Slices below `resolution` ns are drawn together.

    `span` is how many ns the drawing is wide, where that is more: beside a longer one.
    """

    name: str
    title: str
    ts: int
    dur: int
    lanes: tuple[Lane, ...]
    resolution: int
    marks: tuple[Mark, ...] = ()
    span: int = 0

    @property
    def width(self) -> int:
        """The ns that the drawing is wide."""
        return max(self.dur, self.span)
