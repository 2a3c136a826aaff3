"""Process groups without a name that all ranks know: PyTorch 2.1 and 2.2 record an address, which differs from rank to rank.

A collective ends on all its ranks at once, give or take some microseconds by chance. Clocks are off, and drift: less a line the
ends of a group's collectives agree on all its ranks, while those of another group wander off.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Clocks do not drift more against each other.
_MOST_DRIFT = 2e-4

# Differences between ends are averaged over so many stretches of the list: chance is evened out, wandering stays.
_STRETCHES = 20
_LEAST_COMMON = 40
_LEAST_OF_SOME = 64
_MOST_PLACES = 512

# Within a group differences are as chance alone makes them from one collective to the next; to other groups they are more than
# that, and so many times as large. A whole group may also be told by much larger ones alone; some ranks may be alike by accident.
_MOST_WITHIN_NS = 25_000.0
_BY_CHANCE = 1.5
_WANDERING = 1.6
_APART = 1.5
_FAR_APART = 5.0
_TIMES_FOR_SOME = 3.0

_SLICES = """
select s.job, s.time_window, s.unit, s.group_name, s.group_size, any_value(u.world_size) as world_size,
    list(s.ts_end order by s.sequence, s.op) as ends, list(s.sequence || ' ' || s.op order by s.sequence, s.op) as places
from _job_slice as s
inner join _job_unit as u using (job, time_window, unit)
where s.is_address and s.sequence is not null and s.group_size is not null
group by all
order by all
"""


class LocalGroup(msgspec.Struct, frozen=True):
    """A process group as a single rank (`unit`) names it.

    `ends` maps places in the group's list of collectives ("SEQUENCE OPERATION") to the end (ns) of that collective on the
    rank. `size` is the number of ranks of the group, `world` the number of ranks of the program; None if unknown.
    """

    job: int
    time_window: int
    unit: int
    name: str
    size: int
    world: int | None
    ends: dict[str, int]


def infer_groups(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the temporary table _job_group: local names of process groups, with an `identity` that a group's ranks share.

    It has rows only for the local groups that were found to be the same group as one on another rank.
    """
    connection.execute(
        "create or replace temp table _job_group"
        " (job integer, time_window integer, unit integer, group_name varchar, identity varchar)"
    )
    found = [
        LocalGroup(job, window, unit, name, size, world, dict(zip(places, ends, strict=True)))
        for job, window, unit, name, size, world, ends, places in connection.execute(_SLICES).fetchall()
    ]
    by_size = attrgetter("job", "time_window", "size")
    for _, several in groupby(sorted(found, key=by_size), key=by_size):
        rows = [
            (group.job, group.time_window, group.unit, group.name, f"inferred {group.size}.{number}")
            for number, members in enumerate(match_groups(list(several)))
            for group in members
        ]
        if rows:
            connection.executemany("insert into _job_group values (?, ?, ?, ?, ?)", rows)


def match_groups(groups: list[LocalGroup]) -> list[list[LocalGroup]]:
    """Return the sets of local groups that are the same process group; each set has two ranks or more.

    All `groups` must have the same size. Local groups that match nothing are left out.
    """
    if _are_of_all(groups):
        return [groups]
    ends = _ends_by_place(groups)
    nearest = [_find_nearest(index, groups, ends) for index in range(len(groups))]
    sets = {frozenset(members) for members in nearest if members}
    agreed = [members for members in sets if all(nearest[index] == members for index in members)]
    return [[groups[index] for index in sorted(members)] for members in sorted(agreed, key=min)]


def _are_of_all(groups: list[LocalGroup]) -> bool:
    """Return whether there are two groups or more, each the only one of its rank and as large as the whole program."""
    units = {group.unit for group in groups}
    return 1 < len(units) == len(groups) and all(group.size == group.world for group in groups)


def _find_nearest(index: int, groups: list[LocalGroup], ends: Floats) -> frozenset[int]:
    """Return `index` and the indices of the local groups that are the same process group.

    It is empty where no set is clearly nearer than the rest. `ends` are ends by place, ns (groups x places).
    """
    mine = groups[index]
    distance, by_chance = _measure_distances(ends, ends[index])
    order = [int(other) for other in np.argsort(distance, kind="stable") if not np.isnan(distance[other])]
    order = [other for other in order if groups[other].unit != mine.unit]
    for count in range(min(mine.size - 1, len(order)), 0, -1):
        inside, outside = order[:count], order[count:]
        is_near = distance[inside[-1]] <= _MOST_WITHIN_NS
        is_one_each = len({groups[member].unit for member in inside}) == count
        is_whole = count + 1 == mine.size
        is_long = is_whole or np.isfinite(ends[[index, *inside]]).all(axis=0).sum() >= _LEAST_OF_SOME
        if is_near and is_one_each and is_long and _are_apart(distance, by_chance, inside, outside, is_whole=is_whole):
            return frozenset((index, *inside))
    return frozenset()


def _are_apart(distance: Floats, by_chance: Floats, inside: list[int], outside: list[int], *, is_whole: bool) -> bool:
    """Return whether the groups `inside` are clearly nearer than those `outside`; both are indices, the nearest first.

    `distance` and `by_chance` are in ns; `is_whole` says that `inside` completes the process group. False if nothing is outside.
    """
    if not outside:
        return False
    far = distance[outside[0]] / distance[inside[-1]]
    if is_whole and far >= _FAR_APART:
        return True
    times = 1.0 if is_whole else _TIMES_FOR_SOME
    is_chance = (distance[inside] <= _BY_CHANCE * by_chance[inside]).all()
    # from one collective to the next other groups may be as far apart as over all of them
    at_most = np.minimum(by_chance[outside], _MOST_WITHIN_NS)
    wanders = (distance[outside] >= times * _WANDERING * at_most).all()
    return bool(is_chance and wanders and far >= times * _APART)


def _ends_by_place(groups: list[LocalGroup]) -> Floats:
    """Return the ends of each group's collectives, ns (groups x places); NaN for places that a group lacks.

    Of more than 512 places an even selection is used.
    """
    places = list(dict.fromkeys(place for group in groups for place in group.ends))
    some = np.unique(np.linspace(0, len(places) - 1, min(len(places), _MOST_PLACES)).astype(int))
    return np.array([[group.ends.get(places[place], np.nan) for place in some] for group in groups])


def _measure_distances(ends: Floats, own: Floats) -> tuple[Floats, Floats]:
    """Return how far the ends of each group are from the ends `own`, and how far chance alone would put them; both in ns.

    A line no steeper than clocks drift is taken off, and the rest averaged over stretches. NaN where fewer than 40
    collectives are common.
    """
    common = np.isfinite(ends) & np.isfinite(own)
    count = np.maximum(common.sum(axis=1, keepdims=True), 1)
    time = np.where(common, own, 0.0)
    time = np.where(common, time - time.sum(axis=1, keepdims=True) / count, 0.0)
    apart = np.where(common, ends - own, 0.0)
    apart = np.where(common, apart - apart.sum(axis=1, keepdims=True) / count, 0.0)
    slope = (apart * time).sum(axis=1) / np.maximum((time**2).sum(axis=1), 1.0)
    apart -= np.clip(slope, -_MOST_DRIFT, _MOST_DRIFT)[:, None] * time
    distance, by_chance = (np.full(len(ends), np.nan) for _ in range(2))
    for other in np.flatnonzero(common.sum(axis=1) >= _LEAST_COMMON):
        left = apart[other, common[other]]
        many = min(_STRETCHES, len(left) // 2)
        stretches = np.array([stretch.mean() for stretch in np.array_split(left, many)])
        distance[other] = np.sqrt((stretches**2).mean())
        # from one collective to the next nothing wanders
        by_chance[other] = np.sqrt((np.diff(left) ** 2).mean() / 2 * many / len(left))
    return distance, by_chance
