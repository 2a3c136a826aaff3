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

# nesting_kind of ingest/cpu_slice_ordered.sql
OPERATOR = 1
ANNOTATION = 2

# Stands where there is no slice; ids start at 0.
NOBODY = -1

# Times in whole microseconds, each rounded: a child ends at most this much after its parent.
_ROUNDING = 1000

# After every time there is.
NEVER = 1 << 63


class Places(NamedTuple):
    """Where slices belong, one entry a slice for each column of cpu_slice."""

    depth: Sequence[int] | Integers
    parent_id: Sequence[int] | Integers
    operator_id: Sequence[int] | Integers
    annotation_id: Sequence[int] | Integers


class Open(NamedTuple):
    """A slice that has not ended yet."""

    end: int
    slice_id: int
    kind: int


class Stack:
    """The slices open on one thread, outermost first, as parallel lists."""

    __slots__ = ("annotations", "cut", "early", "ends", "ids", "kinds", "operators", "overlapping", "rounding")

    def __init__(self, rounding: int = _ROUNDING) -> None:
        self.rounding = rounding
        self.cut = 0
        self.overlapping = 0
        self.open([])

    @property
    def nests(self) -> bool:
        """Whether every open slice ends before those around it."""
        return self.early == NEVER

    @property
    def opened(self) -> list[Open]:
        """The open slices, outermost first."""
        return [Open(*each) for each in zip(self.ends, self.ids[1:], self.kinds, strict=True)]

    def open(self, slices: Sequence[Open]) -> None:
        """Make these the open slices."""
        self.ends = [each.end for each in slices]
        self.ids = [NOBODY, *(each.slice_id for each in slices)]
        self.kinds = [each.kind for each in slices]
        self.operators = [NOBODY]
        self.annotations = [NOBODY]
        for _, slice_id, kind in slices:
            self.operators.append(slice_id if kind == OPERATOR else self.operators[-1])
            self.annotations.append(slice_id if kind == ANNOTATION else self.annotations[-1])
        # The first end of a slice that lies under one that outlasts it.
        self.early = NEVER
        latest = 0
        for end in reversed(self.ends):
            if end < latest:
                self.early = min(self.early, end)
            latest = max(latest, end)

    def _drop_ended(self, ts: int) -> None:
        """Take out slices that have ended under others that have not."""
        self.open([each for each in self.opened if each.end > ts])

    def place(self, ids: list[int], kinds: list[int], starts: list[int], ends: list[int]) -> Places:
        """Sweep slices of the thread in order of start, longest first."""
        depths: list[int] = []
        parents: list[int] = []
        operators: list[int] = []
        annotations: list[int] = []
        for slice_id, kind, ts, ts_end in zip(ids, kinds, starts, ends, strict=True):
            while self.ends and self.ends[-1] <= ts:
                self.ends.pop()
                self.ids.pop()
                self.kinds.pop()
                self.operators.pop()
                self.annotations.pop()
            if ts >= self.early:
                self._drop_ended(ts)
            operator, annotation = self.operators[-1], self.annotations[-1]
            depths.append(len(self.ends))
            parents.append(self.ids[-1])
            operators.append(operator)
            annotations.append(annotation)
            self.ends.append(self._end(ts_end))
            self.ids.append(slice_id)
            self.kinds.append(kind)
            self.operators.append(slice_id if kind == OPERATOR else operator)
            self.annotations.append(slice_id if kind == ANNOTATION else annotation)
        return Places(depths, parents, operators, annotations)

    def _end(self, end: int) -> int:
        """The end to use for a slice that starts now: its own, or its parent's when only rounding puts it later."""
        if not self.ends or end <= self.ends[-1]:
            return end
        if end - self.ends[-1] <= self.rounding:
            self.cut += 1
            return self.ends[-1]
        self.overlapping += 1
        self.early = min(self.early, self.ends[-1])
        return end
