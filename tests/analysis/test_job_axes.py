"""The process groups of a job: their axes, the time of each rank in them, and who shares what with whom."""

from __future__ import annotations

import pytest
from tables import insert
from test_job_tables import MS, SIZE, Ranks

from traceq.analysis.communication.mesh import read_mesh
from traceq.analysis.job.axes import axis_of_group

GROUP_COLUMNS = "trace_id group_name description group_size axis axis_source is_only"
AXIS_RANK = (
    "select unit, axis, collectives, dur // 1000000, transfer // 1000000, wait // 1000000, late_count, late_by // 1000000"
    " from job_axis_rank order by all"
)


def four_ranks(described=("mesh_tp", "mesh_dp"), hosts=(None,) * 4):
    """Pairs of neighbours reduce twice, then ranks two apart once; rank 3 comes 3 ms later to the first two."""
    ranks = Ranks()
    for rank in range(4):
        trace_id = rank + 1
        ranks.rank(trace_id, rank, world=4, host=hosts[rank])
        near, far = f"near {rank // 2}", f"far {rank % 2}"
        for number in range(2):
            late = 3 * (rank == 3)
            begin = 10 * number
            dur = 1 if rank == 3 else 4 if rank == 2 else 2
            ranks.collective(trace_id, begin + late, dur, sequence=number, group=near)
        ranks.collective(trace_id, 30, 5, sequence=0, group=far, bytes_=4 * SIZE)
        for name, words in zip((near, far), described, strict=True):
            if words is not None:
                row = (trace_id, name, words, 2, words.split("_")[1], "description", False)
                insert(ranks.connection, "process_group", GROUP_COLUMNS, [row])
    return ranks


def test_time_of_each_rank_on_each_axis():
    ranks = four_ranks().filled()
    groups = (
        "select group_name, units, stride, axis, axis_source, collectives, bytes // 1048576 from job_group order by all"
    )
    assert ranks.rows(groups) == [
        ("far 0", [0, 2], 2, "dp", "description", 1, 4),
        ("far 1", [1, 3], 2, "dp", "description", 1, 4),
        ("near 0", [0, 1], 1, "tp", "description", 2, 2),
        ("near 1", [2, 3], 1, "tp", "description", 2, 2),
    ]  # fmt: skip
    assert ranks.rows(AXIS_RANK) == [
        (0, "dp", 1, 5, 5, 0, 0, 0),
        (0, "tp", 2, 4, 4, 0, 0, 0),
        (1, "dp", 1, 5, 5, 0, 0, 0),
        (1, "tp", 2, 4, 4, 0, 0, 0),
        (2, "dp", 1, 5, 5, 0, 0, 0),
        (2, "tp", 2, 8, 2, 6, 0, 0),
        (3, "dp", 1, 5, 5, 0, 0, 0),
        (3, "tp", 2, 2, 2, 0, 2, 6),
    ]


def test_pairs():
    ranks = four_ranks().filled()
    pairs = "select unit, other, bytes // 1048576, transfer // 1000000, wait // 1000000 from job_pair order by all"
    assert ranks.rows(pairs) == [
        (0, 1, 2, 4, 0),
        (0, 2, 4, 5, 0),
        (1, 0, 2, 4, 0),
        (1, 3, 4, 5, 0),
        (2, 0, 4, 5, 0),
        (2, 3, 2, 2, 6),
        (3, 1, 4, 5, 0),
        (3, 2, 2, 2, 0),
    ]


def test_bus_bandwidth_is_that_without_waiting():
    ranks = four_ranks().filled()
    # two all-reduces of 1 MiB over two ranks move their size each, in 1 ms each
    assert ranks.rows("select moved, moved_in from job_group where group_name = 'near 1'") == [(2 * SIZE, 2 * MS)]


def test_a_group_that_no_trace_tells_of_has_no_axis():
    ranks = four_ranks(("mesh_tp", None)).filled()
    assert ranks.rows("select distinct axis, axis_source from job_axis_rank order by all") == [
        ("tp", "description"),
        (None, None),
    ]


def test_a_group_of_all_ranks_beside_smaller_ones_is_the_world():
    ranks = four_ranks()
    for rank in range(4):
        ranks.collective(rank + 1, 50, 2, sequence=0, group="all", size=4)
    assert ranks.filled().rows("select axis, axis_source, stride from job_group where group_name = 'all'") == [
        ("world", "mesh", 1)
    ]


def test_what_was_not_matched_is_on_the_axis_of_its_trace():
    ranks = four_ranks()
    ranks.collective(1, 50, 2, sequence=7, group="near 0")
    found = ranks.filled().rows(
        "select axis, collectives, dur, transfer, wait from job_axis_rank where group_id is null"
    )
    assert found == [("tp", 1, 2 * MS, None, None)]


def test_sums_are_those_of_the_slices():
    ranks = four_ranks().filled()
    sums = "select sum(collectives), sum(dur), sum(exposed) from job_axis_rank"
    assert ranks.rows(sums) == ranks.rows("select count(*), sum(dur), sum(exposed) from collective_slice")


def test_of_a_job_that_cannot_be_judged_only_durations_are_told():
    ranks = Ranks()
    for rank in (0, 1):
        ranks.rank(rank + 1, rank)
        ranks.collective(rank + 1, 0, 2, sequence=0)
        ranks.collective(rank + 1, 10, 50, sequence=1 + rank)
    ranks.filled()
    assert ranks.why() != [(None,)]
    assert ranks.rows("select distinct transfer, wait, late_count from job_axis_rank") == [(None, None, None)]
    assert ranks.rows("from job_pair") == []


def test_blocks_of_large_jobs():
    ranks = Ranks()
    for rank in range(130):
        ranks.rank(rank + 1, rank, world=130, host=f"h{rank // 8:03}")
    assert ranks.filled().rows("select distinct block from job_rank order by block limit 3") == [(0,), (8,), (16,)]
    untold = Ranks()
    for rank in range(130):
        untold.rank(rank + 1, rank, world=130)
    assert untold.filled().rows("select count(distinct block), max(block) from job_rank") == [(44, 129)]
    few = four_ranks(hosts=("a", "a", "b", "b")).filled()
    assert few.rows("select block from job_rank order by unit") == [(0,), (1,), (2,), (3,)]


def described(ranks, *, size=2, world=8, axes=(), sources=(), **coordinates):
    """A row of job_group_found.sql."""
    return {"ranks": ranks, "group_size": size, "world_size": world, "axes": axes, "sources": sources, **coordinates}


@pytest.mark.parametrize(
    ("group", "mesh", "expected"),
    [
        # two of four ranks are along nothing as a whole
        (described([0, 2], axes=["tp"], sources=["description"]), "tp=2,dp=4", ("tp", "description", 2)),
        (described([0, 1], axes=["dp"], sources=["description"]), "tp=2,dp=4", ("tp", "given", 1)),
        (described([0, 1], axes=["dp"], sources=["inferred", "description"]), "", ("dp", "description", 1)),
        # ranks that tell different axes tell none
        (described([0, 1], axes=["dp", "tp"], sources=["inferred"]), "", (None, None, 1)),
        (described([0, 2], axes=["pp"], sources=["description"], tp=1, dp=2, pp=1), "", ("dp", "coordinates", 2)),
        (described([0, 2], tp=2, dp=2), "", (None, None, 2)),
        # of a group that traces know by an address alone, its ranks are known here
        (described([0, 1], axes=["tp"], sources=["inferred"]), "", ("tp", "mesh", 1)),
        (described([0, 1], world=2, axes=["tp"], sources=["inferred"]), "", ("tp", "inferred", 1)),
        # absent ranks leave the stride unknown
        (described([0, 1], size=4, axes=["tp"], sources=["inferred"]), "", ("tp", "inferred", None)),
        (described([0, 1], size=4), "tp=2,dp=4", ("dp", "given", None)),
    ],
)
def test_what_tells_the_axis_of_a_group(group, mesh, expected):
    assert tuple(axis_of_group(group, read_mesh(mesh) if mesh else ())) == expected
