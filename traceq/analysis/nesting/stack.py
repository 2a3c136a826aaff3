"""Nesting of one thread's host slices by a sweep with a stack: right for slices that do not nest as well.

Clocks of whole microseconds let a child end up to one after its parent: it is taken to end with it. An annotation that a
Python frame opens outlasts the frame: it stays open, and what follows is inside it. Linear in slices, whatever the depth,
but for such overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]

# Bits of nesting_kind in cpu_slice_ordered.sql
OPERATOR = 1
ANNOTATION = 2
CONTEXT = 4
PHASE = 8
MODULE = 16
LINE = 32

# Stands where there is no slice; ids start at 0.
NOBODY = -1

# Times in whole microseconds, each rounded: a child ends at most this much after its parent.
_ROUNDING = 1000

# After every time there is.
NEVER = 1 << 63


class Around(NamedTuple):
    """The slices around a slice, by columns of cpu_slice: ids, or NOBODY for none."""

    operator_id: int = NOBODY
    annotation_id: int = NOBODY
    phase_id: int = NOBODY
    outer_annotation_id: int = NOBODY
    context_id: int = NOBODY
    module_id: int = NOBODY
    line_id: int = NOBODY


# For each of them the kind of slice it is, and whether the innermost such slice counts or the outermost.
AROUND = (
    (OPERATOR, True),
    (ANNOTATION, True),
    (PHASE, True),
    (ANNOTATION, False),
    (CONTEXT, False),
    (MODULE, True),
    (LINE, True),
)


class SlicePlaces(NamedTuple):
    """Depth, parent id and surroundings of slices, one entry for each slice; `around` has a sequence for each field of Around."""

    depth: Sequence[int] | Integers
    parent_id: Sequence[int] | Integers
    around: Sequence[Sequence[int] | Integers]
    """One sequence per field of Around."""


class Open(NamedTuple):
    """A slice that has not ended yet: its end (ns), id, and kind (bits of nesting_kind)."""

    end: int
    slice_id: int
    kind: int


class Outlasting(NamedTuple):
    """A slice that ends after slices it started in (`ended`, innermost first); `inside` is the innermost that still lasts.

    `depth` is how many slices still enclose it when the slices in `ended` are over.
    """

    slice_id: int
    ended: tuple[int, ...]
    inside: int
    depth: int


class OpenSlices:
    """The slices open on one thread, outermost first, as parallel lists."""

    __slots__ = ("around", "cut", "early", "ends", "ids", "kinds", "outlasting", "rounding")

    def __init__(self, rounding: int = _ROUNDING) -> None:
        self.rounding = rounding
        self.cut: dict[int, int] = {}
        """Slices that are taken to end with the one around them, and when."""
        self.outlasting: list[Outlasting] = []
        self.open([])

    @property
    def nests(self) -> bool:
        """Whether no open slice ends before a slice inside it."""
        return self.early == NEVER

    @property
    def opened(self) -> list[Open]:
        """The open slices, outermost first."""
        return [Open(*fields) for fields in zip(self.ends, self.ids[1:], self.kinds, strict=True)]

    def open(self, slices: Sequence[Open]) -> None:
        """Replace the open slices by these, given outermost first."""
        self.ends = [open_slice.end for open_slice in slices]
        self.ids = [NOBODY, *(open_slice.slice_id for open_slice in slices)]
        self.kinds = [open_slice.kind for open_slice in slices]
        # What a slice that starts inside the first so many open ones has around it.
        self.around = [Around()]
        for _, slice_id, kind in slices:
            self.around.append(_around_inside(slice_id, kind, self.around[-1]))
        # The first end of a slice that lies under one that outlasts it.
        self.early = NEVER
        latest = 0
        for end in reversed(self.ends):
            if end < latest:
                self.early = min(self.early, end)
            latest = max(latest, end)

    def place(self, ids: list[int], kinds: list[int], starts: list[int], ends: list[int]) -> SlicePlaces:
        """Place further slices of the thread, given in order of start, longest first, and return their places.

        Times are in ns. Slices that end after their parent are noted in `cut` or `outlasting`.
        """
        depths: list[int] = []
        parents: list[int] = []
        around: list[Around] = []
        for slice_id, kind, ts, ts_end in zip(ids, kinds, starts, ends, strict=True):
            while self.ends and self.ends[-1] <= ts:
                self.ends.pop()
                self.ids.pop()
                self.kinds.pop()
                self.around.pop()
            if ts >= self.early:
                # Slices that have ended under others that have not.
                self.open([open_slice for open_slice in self.opened if open_slice.end > ts])
            depths.append(len(self.ends))
            parents.append(self.ids[-1])
            around.append(self.around[-1])
            self.ends.append(self._end(slice_id, ts_end))
            self.ids.append(slice_id)
            self.kinds.append(kind)
            self.around.append(_around_inside(slice_id, kind, self.around[-1]) if kind else self.around[-1])
        return SlicePlaces(depths, parents, list(zip(*around, strict=True)))

    def _end(self, slice_id: int, end: int) -> int:
        """Return the end (ns) of a slice that starts now: its own, or the end of its parent if only rounding puts its own later.

        A slice that outlasts its parent by more is added to `outlasting`.
        """
        if not self.ends or end <= self.ends[-1]:
            return end
        if end - self.ends[-1] <= self.rounding:
            self.cut[slice_id] = self.ends[-1]
            return self.ends[-1]
        inside = len(self.ends)
        while inside and self.ends[inside - 1] < end:
            inside -= 1
        self.outlasting.append(Outlasting(slice_id, tuple(self.ids[:inside:-1]), self.ids[inside], inside))
        self.early = min(self.early, self.ends[-1])
        return end


def _around_inside(slice_id: int, kind: int, around: Around) -> Around:
    """Return the surroundings of the slices directly inside this slice, whose own surroundings are `around`."""
    return Around(
        *(
            slice_id if kind & bit and (innermost or other == NOBODY) else other
            for (bit, innermost), other in zip(AROUND, around, strict=True)
        )
    )
