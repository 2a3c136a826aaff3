"""Stragglers: ranks, hosts or stages that would save most if they were like the usual one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.graph import critical_path, lay_out_rows

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Flags, Floats, Integers, JobGraph, ReplayRows

# What saves less of the job's time is not named.
WORTH_NAMING = 0.01

# Of each kind so many are tried that hold up the critical path longest, and as many are named at most.
_MOST_TRIED = 8

# So many are taken in a row that together save nothing worth naming: as many may hide each other.
_PATIENCE = 3

# A host is late as a whole where it saves so many times what the best of its ranks does alone, once the other hosts are fixed.
_TIMES_BEST_RANK = 5.0
# Most of its ranks have this share of what its latest has beyond the usual: two late ranks of eight are no late host.
_OF_LATEST_RANK = 0.2

# A kind that explains so much of what the best one does may be told in its place.
_EXPLAINED = 0.8


@dataclass(frozen=True)
class JobTimes:
    """A job's times, ns: own time of each member, its own time on the usual rank, first arrivals, and transfers by collective.

    `units` is the number of ranks.
    """

    units: int
    graph: JobGraph
    own: Floats
    usual: Floats
    first: Floats
    transfer: Floats

    def ends(self, cut: Flags) -> Floats:
        """Return the end of each collective, ns, in each scenario (column) of `cut`, which marks the ranks that are usual."""
        return self._rows.ends(cut)

    @cached_property
    def _rows(self) -> ReplayRows:
        return lay_out_rows(self.graph, self.own, self.usual, self.first, self.transfer)

    def lasts(self, cut: Flags) -> Floats:
        """Return how long the job lasts in each scenario of `cut`, ns."""
        lasts: Floats = self.ends(cut).max(axis=0)
        return lasts


@dataclass(frozen=True)
class FoundStraggler:
    """A late rank, host or stage with its ranks; `win` is what it saves alone, `adds` beside the stragglers before it, ns."""

    kind: str
    label: str
    units: tuple[int, ...]
    adds: float
    win: float


def find_stragglers(
    times: JobTimes, kinds: Mapping[str, Mapping[str, Sequence[int]]], dur: float
) -> list[FoundStraggler]:
    """Return the stragglers of the kind (rank, host, stage) that explains the lost time with the fewest names.

    `kinds` holds for each kind its candidates: label to ranks. With equally many names the first kind counts. `dur` is
    how long the job lasts, ns.
    """
    found = {kind: _name_units(times, kind, units, dur) for kind, units in kinds.items()}
    if "host" in found:
        late = _find_late_hosts(times, found["host"], dur)
        # most hosts are not late beside the usual one: what varies on all of them is chance
        found["host"] = late if 2 * len(late) <= len(kinds["host"]) else []
    saved = {kind: sum(straggler.adds for straggler in named) for kind, named in found.items()}
    enough = _EXPLAINED * max(saved.values(), default=0.0)
    good = [kind for kind in found if found[kind] and saved[kind] >= enough]
    return found[min(good, key=lambda kind: len(found[kind]))] if good else []


def _find_late_hosts(times: JobTimes, hosts: Sequence[FoundStraggler], dur: float) -> list[FoundStraggler]:
    """Return hosts most of whose ranks are late, if no single rank explains the host's saving while other hosts are usual."""
    beyond = np.bincount(times.graph.members.unit, times.own - times.usual, times.units)
    every = [_mask_units(times, host.units) for host in hosts]
    kept = {}
    for place, host in enumerate(hosts):
        of_ranks = beyond[list(host.units)]
        if np.median(of_ranks) <= _OF_LATEST_RANK * of_ranks.max():
            continue
        others = np.any([np.zeros(times.units, bool), *every[:place], *every[place + 1 :]], axis=0)
        cuts = [others, others | every[place], *(others | _mask_units(times, (unit,)) for unit in host.units)]
        without, fixed, *ranks = times.lasts(np.stack(cuts, axis=1)).tolist()
        if without - fixed > _TIMES_BEST_RANK * (without - min(ranks)):
            kept[host.label] = host.units
    # what each adds is told beside those that are named
    return list(hosts) if len(kept) == len(hosts) else _name_units(times, "host", kept, dur)


def _name_units(times: JobTimes, kind: str, units: Mapping[str, Sequence[int]], dur: float) -> list[FoundStraggler]:
    """Return the candidates of a kind that each save enough of `dur` beside the others, in the order in which they save most."""
    labels = _drop_useless(times, _pick_greedily(times, units, dur), units, dur)
    named: list[FoundStraggler] = []
    cut, now = np.zeros(times.units, bool), dur
    for label in labels:
        cut = cut | _mask_units(times, units[label])
        alone, together = times.lasts(np.stack([_mask_units(times, units[label]), cut], axis=1)).tolist()
        named.append(FoundStraggler(kind, label, tuple(units[label]), now - together, dur - alone))
        now = together
    return named


def _pick_greedily(times: JobTimes, units: Mapping[str, Sequence[int]], dur: float) -> list[str]:
    """Return labels in the order in which each saves most beside those before it.

    The first may save nothing: of two ranks that are late together, each hides the other.
    """
    cut = np.zeros(times.units, bool)
    found: list[str] = []
    last, in_vain = dur, 0
    while len(found) < _MOST_TRIED and in_vain < _PATIENCE:
        candidates = _rank_by_blame(times, cut, {label: units[label] for label in units if label not in found})
        if not candidates:
            break
        best, lasts = _pick_best(times, cut, candidates, units, last)
        found.append(best)
        cut = cut | _mask_units(times, units[best])
        last, in_vain = (lasts, 0) if last - lasts >= WORTH_NAMING * dur else (last, in_vain + 1)
    return found


def _pick_best(
    times: JobTimes, cut: Flags, blame: Mapping[str, float], units: Mapping[str, Sequence[int]], last: float
) -> tuple[str, float]:
    """Return the candidate that saves most beside the ranks in `cut`, and how long the job lasts then, ns.

    `blame` holds the candidates, the worst first; `last` is how long the job lasts without any of them, ns.
    """
    worst, *others = blame
    lasts = {worst: float(times.lasts((cut | _mask_units(times, units[worst]))[:, None])[0])}
    # the critical path is left, less what a unit is blamed for: more it cannot save
    tried = [other for other in others if blame[other] > last - lasts[worst]]
    if tried:
        several = times.lasts(np.stack([cut | _mask_units(times, units[label]) for label in tried], axis=1))
        lasts |= dict(zip(tried, several.tolist(), strict=True))
    best = min(lasts, key=lasts.__getitem__)
    return best, lasts[best]


def _drop_useless(times: JobTimes, found: list[str], units: Mapping[str, Sequence[int]], dur: float) -> list[str]:
    """Return the labels in `found` without those that add too little to be named; the least useful is dropped first."""
    kept = list(found)
    while kept:
        every = [_mask_units(times, units[label]) for label in kept]
        without = [
            np.any([np.zeros(times.units, bool), *every[:place], *every[place + 1 :]], axis=0)
            for place in range(len(kept))
        ]
        lasts = times.lasts(np.stack([np.any(every, axis=0), *without], axis=1))
        lost = lasts[1:] - lasts[0]
        if lost.min() >= WORTH_NAMING * dur:
            break
        kept.pop(int(lost.argmin()))
    return kept


def _mask_units(times: JobTimes, units: Sequence[int]) -> Flags:
    mask = np.zeros(times.units, bool)
    mask[list(units)] = True
    return mask


def _rank_by_blame(times: JobTimes, cut: Flags, units: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Return candidates by how long (ns) they hold up the critical path beyond the usual, the worst first.

    The ranks in `cut` are taken as usual.
    """
    blame = blame_of_ranks(times, cut)
    by_label = {label: float(blame[list(members)].sum()) for label, members in units.items()}
    worst = sorted(by_label, key=by_label.__getitem__, reverse=True)[:_MOST_TRIED]
    return {name: by_label[name] for name in worst if by_label[name] > 0}


def blame_of_ranks(times: JobTimes, cut: Flags) -> Floats:
    """Return for each rank by how much its own time on the critical path exceeds the usual, ns; the ranks in `cut` are usual."""
    own = np.where(cut[times.graph.members.unit], times.usual, times.own)
    path = critical_path(times.graph, own, times.first, times.transfer, times.ends(cut[:, None])[:, 0])
    late: Integers = path.members[1:]
    beyond = np.maximum(own[late] - times.usual[late], 0.0)
    blame: Floats = np.bincount(times.graph.members.unit[late], beyond, times.units).astype(float)
    return blame
