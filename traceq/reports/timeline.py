"""A part of a trace as it is drawn: lanes of slices, small enough for a page. Times are ns from its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Side = Literal["step", "ledger", "gpu", "host"]
Numbers = Sequence[int]

# What slices are called whose names have least time, where there are too many names.
RARE = "(a rare name)"


@dataclass(frozen=True)
class Called:
    """Name and kind of a slice; the kind gives its colour."""

    name: str
    kind: str


@dataclass(frozen=True)
class Lane:
    """The steps, the ledger of a GPU, a stream or a host thread; its slices nest at most `levels` deep."""

    label: str
    side: Side
    levels: int
    device: int | None = None


@dataclass(frozen=True)
class DrawnSlices:
    """A column for each fact, a place in it for each slice, in the order of lane, depth and start.

    `lane` and `called` are numbers in the lists of the timeline. `count` slices may be drawn as one: then `busy` is the sum of
    their durations, and `called` is the longest of them. `launch` is the slice that launched this one, -1 if it is not drawn.
    """

    lane: Numbers = ()
    depth: Numbers = ()
    ts: Numbers = ()
    dur: Numbers = ()
    busy: Numbers = ()
    called: Numbers = ()
    count: Numbers = ()
    launch: Numbers = ()

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True)
class DrawnPath:
    """The critical path where it runs on drawn lanes: a column for each fact, a place for each stretch, in the order of time."""

    lane: Numbers = ()
    ts: Numbers = ()
    dur: Numbers = ()


@dataclass(frozen=True)
class Mark:
    """A stretch to look at, and why."""

    ts: int
    dur: int
    text: str


@dataclass(frozen=True)
class Timeline:
    """Slices and marks within `dur` ns from `ts` (ns of the trace's clock).

    Slices below `resolution` ns are drawn together, within `views` those below `fine`. A drawing shows the first of `views`
    first, all of it where there is none. `marks` are what a finding is about, `culprit` is the slice it points at, -1 for none.
    `span` is how many ns the drawing is wide where that is more than `dur`: beside a longer one.
    """

    kind: Literal["steps", "step", "occurrence"]
    title: str
    ts: int
    dur: int
    lanes: tuple[Lane, ...]
    called: tuple[Called, ...]
    slices: DrawnSlices
    resolution: int = 1
    fine: int = 1
    views: tuple[Mark, ...] = ()
    marks: tuple[Mark, ...] = ()
    culprit: int = -1
    path: DrawnPath = DrawnPath()
    span: int = 0

    @property
    def width(self) -> int:
        """Return the ns that the drawing is wide."""
        return max(self.dur, self.span)
