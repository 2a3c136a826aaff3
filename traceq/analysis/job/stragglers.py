"""Stragglers: ranks, hosts or stages that would save most if they were like the usual one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from traceq.analysis.job.graph import critical_path, lay_out_rows

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Flags, Floats, Integers, JobGraph, ReplayRows

# What saves less of the job's time is not named.
WORTH_NAMING = 0.01

# Of each kind so many are tried that hold up the critical path longest, and as many are named at most.
MOST_TRIED = 8

# So many are taken in a row that together save nothing worth naming: as many may hide each other.
PATIENCE = 3

# A host is late as a whole where it saves so many times what the best of its ranks does alone, once the other hosts are fixed.
_TIMES_BEST_RANK = 5.0
# Most of its ranks have this share of what its latest has beyond the usual: two late ranks of eight are no late host.
_OF_LATEST_RANK = 0.2

# A kind that explains so much of what the best one does may be told in its place.
_EXPLAINED = 0.8


class JobTimes(msgspec.Struct, frozen=True, dict=True):
    """A job's times, ns: `own` time of each member, `usual` own time, `first` arrivals, and `transfer` by collective.

    `first` counts for members that follow no collective. `units` is the number of ranks.
    """

    units: int
    graph: JobGraph
    own: Floats
    usual: Floats
    first: Floats
    transfer: Floats

    def ends(self, cut: Flags) -> Floats:
        """Return when each collective ends, ns (array: collectives x scenarios).

        A scenario is a column of `cut` (ranks x scenarios), which marks the ranks that take their usual time.
        """
        return self._rows.ends(cut)

    @cached_property
    def _rows(self) -> ReplayRows:
        """The times arranged in the order of a replay; computed once."""
        return lay_out_rows(self.graph, self.own, self.usual, self.first, self.transfer)

    def lasts(self, cut: Flags) -> Floats:
        """Return how long the job lasts in each scenario, ns; a column of `cut` marks the ranks that take their usual time."""
        lasts: Floats = self.ends(cut).max(axis=0)
        return lasts


class FoundStraggler(msgspec.Struct, frozen=True):
    """A late rank, host or stage (`kind`) with its ranks (`units`).

    `win` is how much is saved if it alone is usual, `adds` how much more if the stragglers before it are usual too; ns.
    """

    kind: str
    label: str
    units: tuple[int, ...]
    adds: float
    win: float


def find_stragglers(
    times: JobTimes, kinds: Mapping[str, Mapping[str, Sequence[int]]], dur: float
) -> list[FoundStraggler]:
    """Return the stragglers of the kind (rank, host or stage) that explains the lost time with the fewest names.

    `kinds` holds for each kind its candidates: label to ranks. Only kinds that save at least 80 % as much as the best kind
    count; with equally many names the first kind does. `dur` is how long the job lasts, ns. Empty if nothing saves 1 %.
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
    """Return the hosts, of those found, that are late as a whole.

    Most of their ranks are late, and none of these alone explains the host's saving while the other hosts are usual.
    """
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
    """Return the candidates of a kind that each save 1 % of `dur` (ns) beside the others, the largest saving first.

    `units` maps the candidates' labels to their ranks.
    """
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
    """Return up to 8 labels of candidates, each the one that saves most when those before it are usual already.

    Three in a row may save nothing: of two ranks that are late together, each hides the other.
    """
    cut = np.zeros(times.units, bool)
    found: list[str] = []
    last, in_vain = dur, 0
    while len(found) < MOST_TRIED and in_vain < PATIENCE:
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
    """Return the candidate that saves most while the ranks in `cut` are usual too, and how long the job lasts then, ns.

    `blame` maps candidates to their excess on the critical path, the worst first; `last` is how long the job lasts before, ns.
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
    """Return the labels in `found` without those that save less than 1 % of `dur` beside the rest; the least useful go first."""
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
    """Return a mask of the ranks that is true for `units`."""
    mask = np.zeros(times.units, bool)
    mask[list(units)] = True
    return mask


def _rank_by_blame(times: JobTimes, cut: Flags, units: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Return up to 8 candidates and how long (ns, above 0) their ranks hold up the critical path beyond the usual.

    The worst comes first. The ranks in `cut` are taken as usual; `units` maps labels of candidates to ranks.
    """
    blame = blame_of_ranks(times, cut)
    by_label = {label: float(blame[list(members)].sum()) for label, members in units.items()}
    worst = sorted(by_label, key=by_label.__getitem__, reverse=True)[:MOST_TRIED]
    return {name: by_label[name] for name in worst if by_label[name] > 0}


def blame_of_ranks(times: JobTimes, cut: Flags) -> Floats:
    """Return for each rank by how much its own time on the critical path exceeds the usual, ns.

    The ranks in `cut` take their usual time, so that another path may be critical.
    """
    own = np.where(cut[times.graph.members.unit], times.usual, times.own)
    path = critical_path(times.graph, own, times.first, times.transfer, times.ends(cut[:, None])[:, 0])
    late: Integers = path.members[1:]
    beyond = np.maximum(own[late] - times.usual[late], 0.0)
    blame: Floats = np.bincount(times.graph.members.unit[late], beyond, times.units).astype(float)
    return blame
