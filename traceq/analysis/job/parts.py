"""The parts of a job, sets of ranks that no process group connects: who is late in each, and what these ranks save together.

The parts share no collective, so one replay tells of a faster rank in every one of them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.job.arrays import close_gaps, find_distinct, stable_order
from traceq.analysis.job.clocks import find_components
from traceq.analysis.job.graph import NONE
from traceq.analysis.job.stragglers import MOST_TRIED, PATIENCE, WORTH_NAMING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traceq.analysis.job.graph import Flags, Floats, Integers
    from traceq.analysis.job.stragglers import JobTimes

# Of a larger job only those of each part are tried that exceed the usual most.
_MOST_RANKS = 64
_MOST_OF_A_PART = 8


class PartStraggler(NamedTuple):
    """A late rank (`unit`) of a part, in the order (`place`, from 1) in which its ranks are to be fixed.

    `win` is how much time its part saves if it alone is usual, `adds` how much more if those before it are usual too; ns.
    """

    part: int
    place: int
    unit: int
    adds: float
    win: float


def find_parts(units: int, unit: Integers, group: Integers) -> Integers:
    """Return for each rank the number of its part, the largest first; -1 for a rank without collectives.

    `unit` and `group` are the rank and the process group of each slice.
    """
    number = close_gaps(group)
    places = units * (int(number.max(initial=-1)) + 1)
    if places > len(unit):
        pairs = find_distinct(number.astype(np.int64) * units + unit)
    else:
        occurs = np.zeros(places, bool)
        occurs[number * np.int32(units) + unit] = True
        pairs = np.flatnonzero(occurs)
    return find_components(units, pairs % units, pairs // units)


def find_part_stragglers(times: JobTimes, part: Integers) -> list[PartStraggler]:
    """Return the late ranks of each part, those of a part in the order in which they save most; none of a job in one part.

    `part` is by rank. As for a job, a rank counts that saves 1 % of its part's time beside the others that are named.
    """
    if part.max(initial=NONE) < 1:
        return []
    found = _PartReplays(times, part)
    late = _drop_useless(found, _pick_greedily(found))
    most = max(map(len, late))
    if not most:
        return []
    cut = np.zeros((times.units, 2 * most), bool)
    for units in late:
        for place, unit in enumerate(units):
            cut[unit, place] = True
            cut[unit, most + place :] = True
    lasts = found.find_ends(cut)
    return [
        PartStraggler(
            number,
            place + 1,
            unit,
            adds=float(
                (lasts[number, most + place - 1] if place else found.recorded[number]) - lasts[number, most + place]
            ),
            win=float(found.recorded[number] - lasts[number, place]),
        )
        for number, units in enumerate(late)
        for place, unit in enumerate(units)
    ]


class _PartReplays:
    """Replays of a job in which each part is looked at by itself; times in ns.

    `recorded` is when each part ends as recorded, `worth` what must be saved in it to be named, `candidates` are its ranks
    that may be late, the latest first, `units` the number of ranks of the job.
    """

    def __init__(self, times: JobTimes, part: Integers) -> None:
        self._times, self.units = times, times.units
        members = times.graph.members
        of_end = np.full(len(times.graph.collectives), NONE, np.int64)
        of_end[members.match] = part[members.unit]
        rows = np.flatnonzero(of_end != NONE)
        self._rows = rows[stable_order(of_end[rows])]
        self._heads = np.searchsorted(of_end[self._rows], np.arange(part.max() + 1))
        self.recorded = self.find_ends(np.zeros((times.units, 1), bool))[:, 0]
        is_first = np.flatnonzero(times.graph.is_first)
        begins = np.full(len(self.recorded), np.inf)
        np.minimum.at(begins, part[members.unit[is_first]], times.first[is_first])
        self.worth = WORTH_NAMING * (self.recorded - begins)
        excess = np.bincount(members.unit, times.own - times.usual, times.units)
        most = times.units if times.units <= _MOST_RANKS else _MOST_OF_A_PART
        latest = [unit for unit in np.argsort(-excess, kind="stable").tolist() if excess[unit] > 0]
        self.candidates = [
            [unit for unit in latest if part[unit] == number][:most] for number in range(len(self.recorded))
        ]

    def find_ends(self, cut: Flags) -> Floats:
        """Return when each part ends in each scenario (array: parts x scenarios); `cut` is as of JobTimes.ends()."""
        ends: Floats = np.maximum.reduceat(self._times.ends(cut)[self._rows], self._heads, axis=0)
        return ends

    def find_ends_beside(self, cut: Flags, units: Sequence[Sequence[int]], *, are_cut: bool) -> Floats:
        """Return when each part ends (array: parts x scenarios) if one more of its ranks is usual, or one less.

        `cut` marks the ranks that are usual otherwise; scenario i changes the i-th of each part's `units` to `are_cut`.
        """
        scenarios = np.repeat(cut[:, None], max(1, *map(len, units)), axis=1)
        for several in units:
            scenarios[several, range(len(several))] = are_cut
        return self.find_ends(scenarios)


def _pick_greedily(replays: _PartReplays) -> list[list[int]]:
    """Return up to 8 ranks of each part, each the one that saves most when those before it are usual already.

    Three in a row may save nothing, as of two ranks that are late together each hides the other.
    """
    count = len(replays.recorded)
    found: list[list[int]] = [[] for _ in range(count)]
    last, in_vain = replays.recorded.copy(), np.zeros(count, int)
    cut = np.zeros(replays.units, bool)
    for _ in range(MOST_TRIED):
        left = [
            [unit for unit in replays.candidates[part] if unit not in found[part]] if in_vain[part] < PATIENCE else []
            for part in range(count)
        ]
        if not any(left):
            break
        lasts = replays.find_ends_beside(cut, left, are_cut=True)
        for part, units in enumerate(left):
            if units:
                best = int(lasts[part, : len(units)].argmin())
                found[part].append(units[best])
                cut[units[best]] = True
                is_worth = last[part] - lasts[part, best] >= replays.worth[part]
                last[part], in_vain[part] = (lasts[part, best], 0) if is_worth else (last[part], in_vain[part] + 1)
    return found


def _drop_useless(replays: _PartReplays, found: list[list[int]]) -> list[list[int]]:
    """Return the ranks of each part without those that save too little beside the rest; the least useful go first."""
    kept = [list(units) for units in found]
    while any(kept):
        cut = np.zeros(replays.units, bool)
        cut[[unit for units in kept for unit in units]] = True
        together = replays.find_ends(cut[:, None])[:, 0]
        without = replays.find_ends_beside(cut, kept, are_cut=False)
        dropped = False
        for part, units in enumerate(kept):
            lost = without[part, : len(units)] - together[part]
            if units and lost.min() < replays.worth[part]:
                units.pop(int(lost.argmin()))
                dropped = True
        if not dropped:
            break
    return kept
