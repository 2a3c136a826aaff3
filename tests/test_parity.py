"""One run seen by two profilers, in files of every era, is one run: the same rows to the nanosecond.

fixtures/run holds it ten times. The files' clocks differ: ts is compared as time since the first slice on the GPU, and that
instant as UTC where a file knows UTC. Up to 2023 Kineto cut times to whole microseconds: those files are compared so.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import pytest
from test_fixtures import files

from traceq.analysis import order
from traceq.database.connect import connect
from traceq.loading.ingest import ingest

REFERENCE = "kineto_2026.json.gz"
CUT_TO_MICROSECONDS = ("kineto_2021_array.json.gz", "kineto_2022_microseconds.json.gz")
WITHOUT_UTC = "nsys_pre2021.sqlite"
EXACT = sorted(set(files("run")) - {REFERENCE, *CUT_TO_MICROSECONDS})

# Everything that both profilers say. The tables are those of one file, ts counted from its first slice on the GPU.
GPU = "ts, dur, name, device, context, stream, correlation_id, is_communication, step"
ROWS = {
    "step": "select step, name, source, ts, dur, gpu_ts, gpu_dur, excluded from step",
    "step_stats": "from step_stats",
    "time_ledger": """
        select device, step, if(starts_with(category, 'idle_'), 'idle', category) as category, sum(dur) as dur
        from time_ledger group by all""",
    "idle_gap": "select ts, dur, device, step from idle_gap",
    "device_activity": "from device_activity",
    "kernel": f"""
        select {GPU}, registers_per_thread, shared_memory, grid_x, grid_y, grid_z, block_x, block_y, block_z,
            graph_id, graph_node_id
        from gpu_slice where kind = 'kernel'""",
    "memcpy": f"""
        select {GPU}, bytes, copy_kind, src_memory, dst_memory, src_device, dst_device
        from gpu_slice where kind = 'memcpy'""",
    "memset": f"select {GPU}, bytes, dst_memory from gpu_slice where kind = 'memset'",
    "other GPU work": f"select {GPU} from gpu_slice where kind not in ('kernel', 'memcpy', 'memset')",
    "launch": """
        select g.ts, g.name, c.ts as called_at, c.dur, c.name as call, t.pid, t.tid
        from gpu_slice as g
        left join cpu_slice as c on c.slice_id = g.launch_id
        left join thread as t using (thread_id)""",
    "runtime_call": """
        select ts, dur, name, correlation_id, pid, tid
        from cpu_slice join thread using (thread_id) where kind = 'runtime'""",
    "range": """
        select ts, dur, name, depth, pid, tid
        from cpu_slice join thread using (thread_id) where kind in ('op', 'annotation')""",
}
TABLES = ("step", "step_stats", "time_ledger", "idle_gap", "device_activity", "gpu_slice", "cpu_slice", "thread")

# Why the GPU was idle, as far as a file can tell: one cause stands for another where what tells them apart is not in it.
# A function of autograd: without op_id behind the name it could be anybody's range.
UNNAMED = {"GeluFunction", "GeluFunctionBackward"}
WITHOUT_OPERATOR_IDS = ("nsys_pre2021.sqlite", "nsys_2022.1.sqlite")
NO_STREAM_WAITS = {"idle_dependency": "idle_launch_latency"}  # Kineto before 2026 has no cuda_sync rows
SAYS_LESS = {
    "kineto_2024_absolute.json.gz": NO_STREAM_WAITS,
    "kineto_2024_base_after.json.gz": NO_STREAM_WAITS,
    "kineto_2025_base_before.json.gz": NO_STREAM_WAITS,
}


@pytest.fixture(scope="module")
def database(shared_file):
    with pytest.MonkeyPatch.context() as patch:
        # the others have no part in what is compared
        patch.setattr(order, "TOPICS", (order.TOPICS[0], order.Topic(None, ("step_stats", "program"))))
        path = shared_file("run_of_every_era.duckdb", lambda target: ingest(list(files("run").values()), target))
    with closing(connect(path)) as connection:
        yield connection


def trace_of(database, name):
    """(trace_id, ts of the first slice on the GPU, that instant as UTC) of a file."""
    query = """
        select trace_id, min(g.ts), min(g.ts) + any_value(utc_origin_ns)
        from trace join gpu_slice as g using (trace_id) where path like '%/' || ? group by trace_id"""
    return database.execute(query, [name]).fetchone()


def rows_of(database, name, what):
    """Rows of one file in an order that all files share, as text with the names of the columns."""
    trace_id, origin, _ = trace_of(database, name)
    tables = []
    for table in TABLES:
        columns = [row[0] for row in database.execute(f"describe {table}").fetchall()]
        shifted = ", ".join(f"{ts} - {origin} as {ts}" for ts in ("ts", "gpu_ts") if ts in columns)
        chosen = f"* exclude (trace_id) replace ({shifted})" if shifted else "* exclude (trace_id)"
        tables.append(f"{table} as (select {chosen} from main.{table} where trace_id = {trace_id})")
    result = database.execute(f"with {', '.join(tables)} {ROWS[what]} order by all")
    columns = [column for column, *_ in result.description]
    return [" ".join(f"{c}={value}" for c, value in zip(columns, row, strict=True)) for row in result.fetchall()]


@pytest.mark.parametrize("what", ROWS)
@pytest.mark.parametrize("name", EXACT)
def test_every_file_shows_the_same_run(database, name, what):
    assert rows_of(database, name, what) == rows_of(database, REFERENCE, what)


@pytest.mark.parametrize("name", EXACT)
def test_operators_are_operators_in_every_file(database, name):
    query = "select distinct name from cpu_slice where trace_id = ? and kind = 'op'"
    operators, expected = (
        {operator for (operator,) in database.execute(query, [trace_of(database, file)[0]]).fetchall()}
        for file in (name, REFERENCE)
    )
    assert expected - operators == (UNNAMED if name in WITHOUT_OPERATOR_IDS else set())
    assert operators <= expected


@pytest.mark.parametrize("name", [*EXACT, *CUT_TO_MICROSECONDS])
def test_every_file_is_of_the_same_program(database, name):
    query = "select property, value from program where trace_id = ? order by all"
    found, expected = (database.execute(query, [trace_of(database, file)[0]]).fetchall() for file in (name, REFERENCE))
    assert found == expected


def causes_of(database, name, less):
    """(start, device, step, cause) of each gap -> ns, with causes that `less` replaces added to what replaces them."""
    trace_id, origin, _ = trace_of(database, name)
    query = """
        select g.ts - $origin, g.device, g.step, c.cause, c.dur
        from idle_gap as g join idle_gap_cause as c using (trace_id, gap_id) where trace_id = $id"""
    found = Counter()
    for ts, device, step, cause, dur in database.execute(query, {"id": trace_id, "origin": origin}).fetchall():
        found[ts, device, step, less.get(cause, cause)] += dur
    return found


@pytest.mark.parametrize("name", EXACT)
def test_every_file_shows_the_same_causes_of_idle_time(database, name):
    less = SAYS_LESS.get(name, {})
    assert causes_of(database, name, less) == causes_of(database, REFERENCE, less)


@pytest.mark.parametrize("name", SAYS_LESS)
def test_what_a_file_cannot_tell_makes_a_difference(database, name):
    assert causes_of(database, name, {}) != causes_of(database, REFERENCE, {})


@pytest.mark.parametrize("name", [name for name in EXACT if name != WITHOUT_UTC])
def test_every_clock_maps_to_the_same_utc(database, name):
    assert trace_of(database, name)[2] == trace_of(database, REFERENCE)[2]


def test_the_first_exports_know_no_utc(database):
    assert trace_of(database, WITHOUT_UTC)[2] is None


MICROSECONDS = {
    "gpu_slice": """
        select (ts + $utc) // 1000 as start, name, kind, device, stream, correlation_id, is_communication, step, bytes
        from gpu_slice where trace_id = $id order by all""",
    "runtime_call": """
        select (ts + $utc) // 1000 as start, name, correlation_id
        from cpu_slice where trace_id = $id and kind = 'runtime' order by all""",
    "duration": "select dur // 1000 as dur from gpu_slice where trace_id = $id and $utc >= 0 order by correlation_id",
    "step": "select (ts + $utc) // 1000 as start, step, name, source from step where trace_id = $id order by all",
}


@pytest.mark.parametrize("what", MICROSECONDS)
@pytest.mark.parametrize("name", CUT_TO_MICROSECONDS)
def test_old_files_show_the_same_run_in_microseconds(database, name, what):
    def rows(file):
        trace_id, first, utc = trace_of(database, file)
        return database.execute(MICROSECONDS[what], {"id": trace_id, "utc": utc - first}).fetchall()

    assert rows(name) == rows(REFERENCE)


def test_there_is_something_to_compare(database):
    counts = {what: len(rows_of(database, REFERENCE, what)) for what in ROWS}
    assert counts.pop("other GPU work") == 0
    assert min(counts.values()) > 0
    assert counts["kernel"] > 100
