"""Call paths for other viewers: what each has of its own adds up to the flame graph and to the ledger."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from handmade_traces import MadeUp, complete, database, on_host_only, waiting

from traceq.database.connect import connect
from traceq.exports.stacks import walk_stacks
from traceq.loading.ingest import ingest
from traceq.reports.build_flame import build_flame
from traceq.reports.build_stacks import build_stacks

RUN = Path(__file__).parents[2] / "fixtures" / "run"


def stacks_of(trace):
    with database(trace) as connection:
        return build_stacks(connection, {1: ""})


def times(stacks, measure):
    """Path -> its own time, where it has any."""
    return {
        "/".join(stacks.paths[place].name for place in way): getattr(path, measure)
        for path, way in walk_stacks(stacks)
        if getattr(path, measure)
    }


def check(connection, trace_id=1):
    """Sums are those of the flame graph and of the ledger, to the nanosecond; nothing is below zero."""
    stacks = build_stacks(connection, {trace_id: ""})
    assert all(min(path.host, path.gpu, path.idle) >= 0 for path in stacks.paths)
    flame = build_flame(connection, trace_id)
    if flame is not None:
        assert stacks.sum_time("host") == flame.frames[0].host_ns
        assert stacks.sum_time("gpu") == flame.frames[0].gpu_ns
    counted = f"inner join step as s using (trace_id, step) where trace_id = {trace_id} and s.excluded is null"
    (on_gpu,) = connection.execute(f"select coalesce(sum(g.dur), 0) from gpu_slice as g {counted}").fetchone()
    assert stacks.sum_time("gpu") == on_gpu
    ledger = connection.execute(
        f"select category, sum(l.dur) from time_ledger as l {counted} and category like 'idle%' group by category"
    ).fetchall()
    idle = Counter()
    for path in stacks.paths:
        idle[path.kind] += path.idle
    assert +idle == dict(ledger)
    return stacks


@pytest.mark.parametrize("trace", [waiting, complete, on_host_only])
def test_sums_are_those_of_flame_graph_and_ledger(trace):
    with database(trace()) as connection:
        check(connection)


@pytest.mark.sample(3)
@pytest.mark.parametrize("path", sorted(RUN.iterdir()), ids=lambda path: path.name)
def test_sums_of_recorded_traces_add_up(path, tmp_path):
    ingest([path], tmp_path / "t.duckdb")
    with connect(tmp_path / "t.duckdb") as connection:
        stacks = check(connection)
    assert stacks.dur > 0
    assert stacks.sum_time("host") > 0


def test_idle_time_is_in_the_call_that_the_host_was_in():
    trace = MadeUp().step(0, 10_000, thread=0)
    trace.cpu("annotation", "train", 0, 9_000)
    trace.cpu("annotation", "traceq.fetch#loader", 1_000, 3_000)
    launch = trace.cpu("runtime", "cudaLaunchKernel", 5_000, 200)
    trace.gpu("compute", 6_000, 3_000, launch=launch)
    idle = times(stacks_of(trace), "idle")
    assert idle == {
        "0/train/idle: Python": 1_000 + 1_000,
        "0/train/traceq.fetch#loader/idle: data loading": 3_000,
        "0/train/cudaLaunchKernel/idle: launching": 200,
        # from the end of the call to the start of its work
        "0/train/cudaLaunchKernel/idle: launch latency": 800,
        # after the last call nothing is open on the thread
        "0/idle: unknown cause": 1_000,
    }


def test_idle_time_of_several_gpus_adds_up():
    trace = MadeUp().step(0, 10_000, thread=0)
    trace.cpu("annotation", "train", 0, 10_000)
    for device in range(2):
        launch = trace.cpu("runtime", "cudaLaunchKernel", 1_000 + device * 1_000, 100)
        trace.gpu("compute", 4_000, 2_000 + device * 1_000, device=device, launch=launch)
    with database(trace) as connection:
        assert check(connection).sum_time("idle") == (10_000 - 2_000) + (10_000 - 3_000)


def test_times_are_those_of_the_path_alone():
    trace = MadeUp().step(0, 10_000)
    trace.cpu("op", "aten::linear", 0, 3_000)
    trace.cpu("op", "aten::mm", 500, 2_000)
    launch = trace.cpu("runtime", "cudaLaunchKernel", 1_000, 200)
    trace.gpu("compute", 1_500, 700, launch=launch, name="gemm")
    stacks = stacks_of(trace)
    around = "0/aten::linear/aten::mm"
    assert times(stacks, "host") == {
        "0/aten::linear": 1_000,
        around: 1_800,
        f"{around}/cudaLaunchKernel": 200,
    }
    assert times(stacks, "gpu") == {f"{around}/cudaLaunchKernel/gemm": 700}
    assert stacks.dur == 10_000


def test_gpu_work_needs_no_host():
    stacks = stacks_of(MadeUp().step(0, 100).gpu("compute", 0, 50, name="gemm"))
    assert times(stacks, "gpu") == {"gemm": 50}
    assert times(stacks, "idle") == {"idle: unknown cause": 50}


def test_without_counted_steps_there_are_no_paths():
    trace = MadeUp().step(0, 1_000, excluded="warm-up")
    trace.cpu("op", "aten::mm", 0, 500)
    stacks = stacks_of(trace)
    assert (list(stacks.paths), stacks.dur) == ([], 0)


def test_several_traces_have_a_frame_each():
    def trace(dur):
        made = MadeUp().step(0, 1_000)
        made.cpu("op", "aten::mm", 0, dur)
        return made

    with database(trace(300), trace(400)) as connection:
        stacks = build_stacks(connection, {1: "rank 0", 2: "rank 1"})
    assert times(stacks, "host") == {"rank 0/0/aten::mm": 300, "rank 1/0/aten::mm": 400}
    assert stacks.dur == 2_000
