"""A part of a trace as it is drawn: lanes of slices, small enough for a page. Times are ns from its start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Side = Literal["step", "ledger", "gpu", "host"]
Numbers = Sequence[int]

# What slices are called whose names have least time, where there are too many names.
RARE = "(a rare name)"


class Called(msgspec.Struct, frozen=True):
    """The name and the kind of slices in a timeline; the kind gives their colour."""

    name: str
    kind: str


class Lane(msgspec.Struct, frozen=True):
    """A row of a timeline: the steps, a GPU's ledger, a stream or a host thread; `levels` is how deep its slices nest."""

    label: str
    side: Side
    levels: int
    device: int | None = None


class DrawnSlices(msgspec.Struct, frozen=True):
    """The slices of a timeline in columns, ordered by lane, depth and start; `ts` is ns since the timeline's start.

    `lane` and `called` are indices in the timeline's lists. A slice may stand for `count` merged ones: then `busy` is
    the sum of their ns, and `called` names the longest. `launch` is the index of the slice that launched it, -1 if that
    is not drawn.
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


class DrawnPath(msgspec.Struct, frozen=True):
    """The critical path on the drawn lanes: its stretches in columns, ordered by time (ns since the timeline's start)."""

    lane: Numbers = ()
    ts: Numbers = ()
    dur: Numbers = ()


class Mark(msgspec.Struct, frozen=True):
    """A marked stretch of a timeline, `ts` ns from its start and `dur` ns long, and the text on why it is marked."""

    ts: int
    dur: int
    text: str


class Timeline(msgspec.Struct, frozen=True):
    """Lanes of slices and marks, `dur` ns long, from `ts` (ns of the trace's clock).

    Slices below `resolution` ns are merged, in what `detail` says in words those below `fine`. A drawing first shows the first of
    `views`, or everything without one. `marks` are the times that a finding is about; `culprit` is the slice that it
    blames, -1 for none. `span` is the drawing's width in ns if that is more than `dur`, so that it compares with a
    longer one.
    """

    kind: Literal["steps", "step", "occurrence", "job"]
    title: str
    ts: int
    dur: int
    lanes: tuple[Lane, ...]
    called: tuple[Called, ...]
    slices: DrawnSlices
    resolution: int = 1
    fine: int = 1
    detail: str = ""
    views: tuple[Mark, ...] = ()
    marks: tuple[Mark, ...] = ()
    culprit: int = -1
    path: DrawnPath = DrawnPath()
    span: int = 0

    @property
    def width(self) -> int:
        """The ns that the drawing is wide: `dur`, or `span` if that is more."""
        return max(self.dur, self.span)
