"""Steps as they are found: what stands where, before a table is made of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from traceq.analysis.nesting.stack import Integers


class Mark(NamedTuple):
    """A step: from `ts` to the next one's, the last to `own_end`. `excluded` says why it does not count."""

    name: str
    thread_id: int | None
    ts: int
    own_end: int
    excluded: str | None = None


def regrouped(marks: list[Mark], steps_per: Fraction, launched: Integers) -> list[Mark]:
    """Cut or join `marks` so that each has `steps_per` steps, with equally many of the launches (times, ascending)."""
    if steps_per.denominator > 1:
        return _joined(marks, steps_per.denominator)
    ends = [*(mark.ts for mark in marks[1:]), *(mark.own_end for mark in marks[-1:])]
    return [part for mark, end in zip(marks, ends, strict=True) for part in _cut(mark, end, int(steps_per), launched)]


def _joined(marks: list[Mark], size: int) -> list[Mark]:
    """Return the marks that count, `size` of them as one; those that do not count stay alone."""
    joined: list[Mark] = []
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


def _cut(mark: Mark, end: int, parts: int, launched: Integers) -> list[Mark]:
    """Return the mark in equal parts by launches; whole where it has fewer launches than parts."""
    first, last = np.searchsorted(launched, [mark.ts, end])
    if last - first < parts:
        return [mark]
    places = [int(first) + (int(last) - int(first)) * part // parts for part in range(1, parts)]
    borders = [mark.ts, *(int(launched[place]) for place in places)]
    return [
        mark._replace(ts=ts, own_end=until) for ts, until in zip(borders, [*borders[1:], mark.own_end], strict=True)
    ]
