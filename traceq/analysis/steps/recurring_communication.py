"""Training steps of a trace without marks and with varying kernels: the same communication over and over.

Shapes and tuning change kernels, and leave the collectives of a step as they are. Those are few and many have the same name, so
that layers are easily taken for steps. Two things tell: the pauses of the host between them, when every so many the pause is
far longer than all others (from the last gradient of a step to the first of the next), or else their names, when these
repeat exactly from the first of the trace to the last. A step ends at the longest pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from traceq.analysis.nesting.stack import Integers

# Fewer steps, or collectives in a step, are a coincidence or a layer. Pauses are the stronger sign.
_LEAST_LONG_PAUSES = 4
_LEAST_BETWEEN_PAUSES = 4
_LONGER = 2
_LEAST_STEPS = 3
_LEAST_NAMES = 8


class Borders(NamedTuple):
    """The indices of the last collective of each step, in the order of launches, and the number of collectives in a step."""

    ends: list[int]
    length: int


def find_recurring_communication(names: Integers, ts: Integers, ts_end: Integers) -> Borders | None:
    """Return the ends of steps among collectives; None where the collectives do not recur.

    `names` has equal numbers for equal collectives; `ts` and `ts_end` are begin and end of each launch, ns; all are in the
    order of time.
    """
    pauses = ts[1:] - ts_end[:-1]
    return _find_by_pauses(names, pauses) or _find_by_names(names, pauses)


def _find_by_pauses(names: Integers, pauses: Integers) -> Borders | None:
    """Return the steps between the longest pauses of the host (`pauses`, ns, after each collective).

    These must be twice as long as all other pauses, equally far apart, and have the same names between; else None.
    """
    order = np.argsort(-pauses, kind="stable")
    lengths = pauses[order]
    first, last = np.minimum.accumulate(order), np.maximum.accumulate(order)
    for count in 1 + np.flatnonzero((lengths[:-1] > 0) & (lengths[:-1] >= _LONGER * lengths[1:])):
        if count < _LEAST_LONG_PAUSES:
            continue
        length, rest = divmod(int(last[count - 1] - first[count - 1]), int(count) - 1)
        is_throughout = first[count - 1] < length and len(names) - 1 - last[count - 1] <= length
        if rest == 0 and length >= _LEAST_BETWEEN_PAUSES and is_throughout:
            ends = np.sort(order[:count])
            if ends[-1] + length == len(names) - 1:
                ends = np.append(ends, len(names) - 1)
            if _are_alike(names, ends, length):
                return Borders(ends.tolist(), length)
    return None


def _are_alike(names: Integers, ends: Integers, length: int) -> bool:
    """Return whether all ends are `length` apart, with the same sequence of names between any two."""
    if np.any(np.diff(ends) != length):
        return False
    sequences = names[ends[0] + 1 : ends[-1] + 1].reshape(-1, length)
    return bool(np.all(sequences == sequences[0]))


def _find_by_names(names: Integers, pauses: Integers) -> Borders | None:
    """Return steps of the shortest length at which all names repeat, each ending at the longest median pause.

    None where the length is under 8 collectives, or fewer than three steps fit.
    """
    length = _find_period(names.tolist())
    if not _LEAST_NAMES <= length <= len(names) // _LEAST_STEPS:
        return None
    places = np.arange(len(names)) % length
    longest = max(range(length), key=lambda place: float(np.median(pauses[places[:-1] == place])))
    ends = np.flatnonzero(places == longest)
    return Borders(ends.tolist(), length)


def _find_period(names: list[int]) -> int:
    """Return the least distance at which all names repeat (Knuth, Morris and Pratt); the number of names if they never do."""
    borders = [0] * len(names)
    for position in range(1, len(names)):
        border = borders[position - 1]
        while border and names[position] != names[border]:
            border = borders[border - 1]
        borders[position] = border + (names[position] == names[border])
    return len(names) - (borders[-1] if borders else 0)
