"""Copies, collectives and data stalls as traceq reads them from a trace are what happened in the simulator."""

from __future__ import annotations

import pytest
from simulator import SCENES, simulate, truth, write_kineto, write_nsys
from simulator.overlap import input_copies_exposed, overlaps

import traceq

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
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
    from copy_overlap join gpu_slice using (trace_id, slice_id) where trace_id = $t order by all
"""
COLLECTIVES = """
    select gpu_slice.device, gpu_slice.stream, correlation_id, overlapped, exposed, blocking
    from collective_slice join gpu_slice using (trace_id, slice_id) where trace_id = $t order by all
"""
STALLS = "select step, data_wait, data_stall from data_stall where trace_id = $t order by step"
WAITS = "select step, sum(dur)::bigint from host_ledger where trace_id = $t and category = 'data' group by step"


@pytest.fixture(scope="module")
def runs():
    return {name: simulate(SCENES[name]()) for name in NAMES}


@pytest.fixture(scope="module")
def told(runs, tmp_path_factory):
    """(scene, format) -> the truth and the trace's number, and the database of all of them."""
    folder = tmp_path_factory.mktemp("overlap")
    files = {}
    for name, run in runs.items():
        for trace_format, (write, suffix) in WRITERS.items():
            path = folder / f"{name}.{suffix}"
            write(run, path, run.ranks[0])
            files[str(path)] = name, trace_format
    traceq.ingest(list(files), folder / "all.duckdb")
    with traceq.open(folder / "all.duckdb") as db:
        numbers = {files[path]: number for number, path in db.sql("select trace_id, path from trace").fetchall()}
        yield db, {key: (truth(runs[key[0]], key[1], 0), number) for key, number in numbers.items()}


every_scene = pytest.mark.parametrize("trace_format", WRITERS)


@every_scene
@pytest.mark.parametrize("name", NAMES)
def test_what_ran_beside_copies(name, trace_format, told):
    db, truths = told
    happened, number = truths[name, trace_format]
    expected = sorted(
        (one.device, one.stream, one.correlation, one.overlapped, one.exposed, one.could_overlap)
        for one in overlaps(happened)
        if one.category.startswith("copy_")
    )
    assert db.sql(COPIES, {"t": number}).fetchall() == expected


@every_scene
@pytest.mark.parametrize("name", NAMES)
def test_what_ran_beside_collectives_and_waited_for_them(name, trace_format, told):
    db, truths = told
    happened, number = truths[name, trace_format]
    expected = sorted(
        (one.device, one.stream, one.correlation, one.overlapped, one.exposed, one.blocking)
        for one in overlaps(happened)
        if one.category == "communication"
    )
    found = db.sql(COLLECTIVES, {"t": number}).fetchall()
    assert [row[:-1] for row in found] == [row[:-1] for row in expected]
    for *_, blocking in found:
        assert blocking is not None
    differences = [
        abs(one[-1] - other[-1]) / max(NANOSECONDS, SHARE * other[-1])
        for one, other in zip(found, expected, strict=True)
    ]
    assert max(differences, default=0) <= 1


@every_scene
@pytest.mark.parametrize("name", NAMES)
def test_data_stalls(name, trace_format, told):
    db, truths = told
    happened, number = truths[name, trace_format]
    idle = {step: ns for (device, step, cause), ns in happened.causes().items() if (device, cause) == (0, "idle_data")}
    copies = input_copies_exposed(happened)
    waits = dict(db.sql(WAITS, {"t": number}).fetchall())
    for step, wait, stall in db.sql(STALLS, {"t": number}).fetchall():
        expected = idle.get(step, 0) + copies[step]
        assert wait in (None, waits.get(step, 0))
        assert abs((stall or 0) - expected) <= max(NANOSECONDS, SHARE * expected), step


def test_only_what_is_waited_for_blocks(runs):
    def blocked(name):
        return sum(one.blocking or 0 for one in overlaps(truth(runs[name], "nsys", 0)))

    assert blocked("long_collective") > 4_000_000
    assert blocked("unawaited_collective") == 0
