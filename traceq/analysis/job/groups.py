"""Process groups without a name that all ranks know: PyTorch 2.1 and 2.2 record an address, which differs from rank to rank.

The ends of a group's collectives follow one another at the same intervals on all its ranks, whatever their clocks say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

# Ends of one collective on its ranks differ by some ten microseconds from their place in the ring: intervals that differ
# less than this are the same. Intervals of other groups have to differ twice as much as those within.
_JITTER_NS = 50_000.0
_TIMES_NEAREST = 4.0
_APART = 2.0

# Fewer intervals in common tell nothing.
_LEAST_INTERVALS = 3

_SLICES = """
select job, time_window, unit, group_name, group_size, list(ts_end order by sequence, op) as ends,
    list(sequence || ' ' || op order by sequence, op) as places
from _job_slice
where is_address and sequence is not null and group_size is not null
group by all
order by all
"""


@dataclass(frozen=True)
class LocalGroup:
    """A process group as one rank names it: when its collectives ended there, by their place in the group's list."""

    job: int
    time_window: int
    unit: int
    name: str
    size: int
    ends: dict[str, int]


def infer_groups(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the temporary table _job_group: which names of a group on several ranks mean the same group."""
    connection.execute(
        "create or replace temp table _job_group"
        " (job integer, time_window integer, unit integer, group_name varchar, identity varchar)"
    )
    found = [
        LocalGroup(job, window, unit, name, size, dict(zip(places, ends, strict=True)))
        for job, window, unit, name, size, ends, places in connection.execute(_SLICES).fetchall()
    ]
    by_size = attrgetter("job", "time_window", "size")
    for _, several in groupby(sorted(found, key=by_size), key=by_size):
        rows = [
            (group.job, group.time_window, group.unit, group.name, f"inferred {group.size}.{number}")
            for number, members in enumerate(same_groups(list(several)))
            for group in members
        ]
        if rows:
            connection.executemany("insert into _job_group values (?, ?, ?, ?, ?)", rows)


def same_groups(groups: list[LocalGroup]) -> list[list[LocalGroup]]:
    """Which of these groups of one size are the same, each with at least two ranks; groups that fit nowhere are left out."""
    distance = _distances(groups)
    nearest = [_nearest(index, groups, distance) for index in range(len(groups))]
    sets = {frozenset(each) for each in nearest if each}
    agreed = [each for each in sets if all(nearest[index] == each for index in each)]
    return [[groups[index] for index in sorted(each)] for each in sorted(agreed, key=min)]


def _nearest(index: int, groups: list[LocalGroup], distance: NDArray[np.float64]) -> frozenset[int]:
    """The group `index` with those that are the same by its intervals; nothing where others are nearly as close."""
    order = [int(other) for other in np.argsort(distance[index], kind="stable") if np.isfinite(distance[index, other])]
    order = [other for other in order if other != index and groups[other].unit != groups[index].unit]
    if not order:
        return frozenset()
    limit = max(_JITTER_NS, _TIMES_NEAREST * distance[index, order[0]])
    inside = [other for other in order[: groups[index].size - 1] if distance[index, other] <= limit]
    outside = order[len(inside) :]
    if outside and distance[index, outside[0]] < _APART * distance[index, inside[-1]]:
        return frozenset()
    if len({groups[other].unit for other in inside}) < len(inside):
        return frozenset()
    return frozenset((index, *inside))


def _distances(groups: list[LocalGroup]) -> NDArray[np.float64]:
    """Median difference of the intervals between neighbours in the list, ns, by pair of groups; NaN for too few in common."""
    places = list(dict.fromkeys(place for group in groups for place in group.ends))
    ends = np.array([[group.ends.get(place, np.nan) for place in places] for group in groups])
    intervals = np.diff(ends, axis=1)
    distance = np.full((len(groups), len(groups)), np.nan)
    for index, own in enumerate(intervals):
        apart = np.abs(intervals - own)
        enough = np.isfinite(apart).sum(axis=1) >= _LEAST_INTERVALS
        distance[index, enough] = np.nanmedian(apart[enough], axis=1)
    return distance
