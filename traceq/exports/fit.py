"""Leave out events so that an export stays small: the deepest frames of the host first, of those the shortest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

# Levels of events, as exports/sql/ gives them; the highest go first. 0 stays. The outermost frames of the host outlast
# what GPUs do, for without them nobody knows what was going on.
GPU, _SAMPLE = 8, 9
_OUTER, _DEEP = 1, 10  # levels of depth 0


class Weight(NamedTuple):
    """The weight of an event in a file: bytes, level (0 is never left out), and duration (ns)."""

    size: int
    level: int
    dur: int


class Cut(msgspec.Struct, frozen=True):
    """A rule for events to leave out of a file: those above `level`, and those on `level` that last at most `dur` ns."""

    level: int
    dur: int

    def keeps(self, level: int, dur: int) -> bool:
        """Return whether an event of this level and duration (ns) stays in the file."""
        return level < self.level or (level == self.level and dur > self.dur)


def cut_to_fit(weights: Iterable[Weight], most: int) -> tuple[Cut, str] | None:
    """Return the cut that leaves at most `most` bytes, with a sentence on what is left out.

    Return None if all events fit, or if none may be left out.
    """
    table = np.array(list(weights), dtype=np.int64).reshape(-1, 3)
    if table[:, 0].sum() <= most:
        return None
    table = table[np.lexsort((-table[:, 2], table[:, 1]))]
    first = int(np.searchsorted(np.cumsum(table[:, 0]), most, side="right"))
    first = max(first, int(np.count_nonzero(table[:, 1] == 0)))
    if first == len(table):
        return None
    cut = Cut(int(table[first, 1]), int(table[first, 2]))
    # What is as long as the first that is too much goes with it, whatever the order of the file.
    out = table[(table[:, 1] > cut.level) | ((table[:, 1] == cut.level) & (table[:, 2] <= cut.dur))]
    return cut, _describe_cut(out, cut, len(table))


def _describe_cut(out: np.ndarray[tuple[int, ...], np.dtype[np.int64]], cut: Cut, events: int) -> str:
    """Return a phrase on the events `out` that are left out, of `events` in all."""
    levels = out[:, 1]
    of_gpu = (levels == GPU) | (levels == _SAMPLE)
    host = int(np.count_nonzero(~of_gpu))
    parts = []
    if host:
        depth = _depth_of(int(levels[~of_gpu].min()))
        shortest = f" (at depth {depth} those up to {cut.dur} ns)" if cut.level not in (GPU, _SAMPLE) else ""
        parts.append(f"{host} slices of the host from depth {depth}{shortest}")
    if host < len(out):
        parts.append(f"{len(out) - host} slices, segments and samples of GPUs and ledgers")
    return f"{' and '.join(parts)}, of {events} events"


def _depth_of(level: int) -> int:
    """Return the depth of a host slice that has this level."""
    return level - _OUTER if level < GPU else level - _DEEP
