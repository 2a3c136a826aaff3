"""Copies, collectives and data stalls as traceq reads them from a trace are what happened in the simulator."""

from __future__ import annotations

import pytest
from simulator import SCENES, simulate, truth
from simulator.overlap import input_copies_exposed, overlaps

import traceq

NAMES = [
    "pageable_copy",
    "prefetched_copy",
    "late_copy",
    "hidden_loader",
    "slow_loader",
    "idle_data",
    "pipeline",
    "shared_gpu",
    "late_rank",
    "long_collective",
    "unawaited_collective",
]

# As for the causes of idle time; what ran beside what is exact.
SHARE, NANOSECONDS = 0.01, 1000

COPIES = """
    select gpu_slice.device, gpu_slice.stream, correlation_id, overlapped, exposed, could_overlap
    from copy_overlap join gpu_slice using (trace_id, slice_id) order by all
"""
COLLECTIVES = """
    select gpu_slice.device, gpu_slice.stream, correlation_id, overlapped, exposed, blocking
    from collective_slice join gpu_slice using (trace_id, slice_id) order by all
"""
STALLS = "select step, data_wait, data_stall from data_stall order by step"
WAITS = "select step, sum(dur)::bigint from host_ledger where category = 'data' group by step"


@pytest.fixture(scope="module")
def runs():
    return {name: simulate(SCENES[name]()) for name in NAMES}


@pytest.fixture
def told(name, trace_format, runs, ingested):
    """The database of a scene, and the truth."""
    with traceq.open(ingested(name, trace_format)) as db:
        yield db, truth(runs[name], trace_format, 0)


every_scene = pytest.mark.parametrize("trace_format", ["nsys", "kineto"])


@pytest.mark.sample(24)
@every_scene
@pytest.mark.parametrize("name", NAMES)
def test_what_ran_beside_copies(told):
    db, happened = told
    expected = sorted(
        (one.device, one.stream, one.correlation, one.overlapped, one.exposed, one.could_overlap)
        for one in overlaps(happened)
        if one.category.startswith("copy_")
    )
    assert db.sql(COPIES).fetchall() == expected


@pytest.mark.sample(4)
@every_scene
@pytest.mark.parametrize("name", NAMES)
def test_what_ran_beside_collectives_and_waited_for_them(told):
    db, happened = told
    expected = sorted(
        (one.device, one.stream, one.correlation, one.overlapped, one.exposed, one.blocking)
        for one in overlaps(happened)
        if one.category == "communication"
    )
    found = db.sql(COLLECTIVES).fetchall()
    assert [row[:-1] for row in found] == [row[:-1] for row in expected]
    for *_, blocking in found:
        assert blocking is not None
    differences = [
        abs(one[-1] - other[-1]) / max(NANOSECONDS, SHARE * other[-1])
        for one, other in zip(found, expected, strict=True)
    ]
    assert max(differences, default=0) <= 1


@pytest.mark.sample(24)
@every_scene
@pytest.mark.parametrize("name", NAMES)
def test_data_stalls(told):
    db, happened = told
    idle = {step: ns for (device, step, cause), ns in happened.causes().items() if (device, cause) == (0, "idle_data")}
    copies = input_copies_exposed(happened)
    waits = dict(db.sql(WAITS).fetchall())
    for step, wait, stall in db.sql(STALLS).fetchall():
        expected = idle.get(step, 0) + copies[step]
        assert wait in (None, waits.get(step, 0))
        assert abs((stall or 0) - expected) <= max(NANOSECONDS, SHARE * expected), step


def test_only_what_is_waited_for_blocks(runs):
    def blocked(name):
        return sum(one.blocking or 0 for one in overlaps(truth(runs[name], "nsys", 0)))

    assert blocked("long_collective") > 4_000_000
    assert blocked("unawaited_collective") == 0
