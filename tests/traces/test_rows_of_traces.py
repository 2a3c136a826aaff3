"""Every row of every real file is in the table it belongs to, with the times, names and sizes the file gives it.

The files are read a second time by raw_chrome and raw_nsys, which share nothing with traceq.
"""

from __future__ import annotations

from collections import Counter

import pytest
from agreement import assert_same_rows, assert_same_values
from raw_slices import RawTrace, find_extent, tally_rows
from trace_files import NO_TRACE, NSYS, every_chrome_trace, every_nsys_trace, every_trace, read_raw

HOST_ROWS = """
    select kind, name, ts, dur, pid, tid, correlation_id
    from cpu_slice join thread using (trace_id, thread_id)
"""
DEVICE_ROWS = "select kind, name, ts, dur, device, stream, correlation_id, bytes from gpu_slice"
LAUNCH_SHAPES = """
    select name, ts, [grid_x, grid_y, grid_z], [block_x, block_y, block_z] from gpu_slice where kind = 'kernel'
"""
# Copies of the CUPTI-era files whose direction the name of the slice tells.
COPY_KINDS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "p2p"}


def list_rows(trace: RawTrace, table: str) -> list:
    return trace.host if table == "cpu_slice" else trace.device


@every_trace
@pytest.mark.parametrize("table", ["cpu_slice", "gpu_slice"])
def test_counts_and_summed_durations_of_each_kind_are_those_of_the_file(path, table, databases):
    found = databases(path).execute(f"select kind, count(*), sum(dur) from {table} group by kind").fetchall()
    expected = tally_rows(list_rows(read_raw(path), table), lambda row: row.kind)
    assert_same_values({kind: (count, total) for kind, count, total in found}, expected)


@every_trace
@pytest.mark.parametrize("table", ["cpu_slice", "gpu_slice"])
def test_first_start_and_last_end_of_each_kind_are_those_of_the_file(path, table, databases):
    found = databases(path).execute(f"select kind, min(ts), max(ts_end) from {table} group by kind").fetchall()
    assert_same_values(
        {kind: (first, last) for kind, first, last in found}, find_extent(list_rows(read_raw(path), table))
    )


@every_trace
def test_each_host_slice_of_the_file_is_one_row(path, databases):
    expected = [(row.kind, row.name, row.ts, row.dur, *row.thread, row.correlation) for row in read_raw(path).host]
    assert_same_rows(databases(path).execute(HOST_ROWS).fetchall(), expected)


@every_trace
def test_each_device_slice_of_the_file_is_one_row(path, databases):
    assert_same_rows(databases(path).execute(DEVICE_ROWS).fetchall(), [row[:8] for row in read_raw(path).device])


@every_trace
def test_grid_and_block_of_each_kernel_are_those_of_the_file(path, databases):
    found = databases(path).execute(LAUNCH_SHAPES).fetchall()
    none = (None, None, None)
    expected = [
        (row.name, row.ts, row.grid or none, row.block or none) for row in read_raw(path).device if row.kind == "kernel"
    ]
    assert_same_rows([(name, ts, tuple(grid), tuple(block)) for name, ts, grid, block in found], expected)


@every_trace
def test_the_kind_of_each_copy_is_its_direction(path, databases):
    found = databases(path).execute("select distinct name, copy_kind from gpu_slice where kind = 'memcpy'").fetchall()
    expected = {name: "um" if "Unified" in name else COPY_KINDS[name.split()[1]] for name, _ in found}
    assert_same_values(dict(found), expected)


@every_trace
def test_only_copies_have_a_kind_of_copy(path, databases):
    query = "select count(*) from gpu_slice where (kind = 'memcpy') <> (copy_kind is not null)"
    assert databases(path).execute(query).fetchone() == (0,)


@every_trace
@pytest.mark.parametrize("table", ["gpu_annotation", "synchronization", "cuda_event", "counter"])
def test_rows_of_the_smaller_tables_are_as_many_as_in_the_file(path, table, databases):
    assert databases(path).execute(f"select count(*) from {table}").fetchone() == (read_raw(path).other[table],)


@every_trace
def test_each_thread_holds_as_many_slices_as_in_the_file(path, databases):
    query = "select pid, tid, kind, count(*) from cpu_slice join thread using (trace_id, thread_id) group by all"
    expected = Counter((*row.thread, row.kind) for row in read_raw(path).host)
    assert_same_values(
        {(pid, tid, kind): count for pid, tid, kind, count in databases(path).execute(query).fetchall()}, expected
    )


@every_trace
def test_time_zero_is_where_the_file_says_it_is(path, databases):
    expected = read_raw(path).utc_origin if path in NSYS else read_raw(path).utc_origin or 0
    assert databases(path).execute("select utc_origin_ns from trace").fetchone() == (expected,)


@every_trace
def test_rank_and_world_size_are_those_of_the_file_if_it_says(path, databases):
    assert databases(path).execute("select rank, world_size from trace").fetchone() == read_raw(path).place


@every_chrome_trace
def test_category_keeps_what_the_file_calls_each_slice(path, databases):
    query = "select category, count(*) from cpu_slice group by category"
    assert_same_values(
        dict(databases(path).execute(query).fetchall()), Counter(row.category for row in read_raw(path).host)
    )


@every_chrome_trace
def test_flows_are_counted_since_they_are_not_stored(path, databases):
    query = "select coalesce(sum(count), 0) from import_note where code = 'flow_not_stored'"
    assert databases(path).execute(query).fetchone() == (read_raw(path).unstored["flow_not_stored"],)


@every_nsys_trace
def test_rows_that_no_table_holds_are_counted_in_the_notes(path, databases):
    counts = {count for (count,) in databases(path).execute("select count from import_note").fetchall()}
    uncounted = {rows: count for rows, count in read_raw(path).unstored.items() if count and count not in counts}
    assert not uncounted, f"no note counts {uncounted}"


@every_nsys_trace
def test_the_call_stack_of_a_cuda_call_has_the_call_in_it(path, databases):
    query = """
        select c.name, b.stack
        from backtrace as b
        inner join cpu_slice as c using (trace_id, slice_id)
        where c.kind = 'runtime' and not contains(b.stack, c.name)
    """
    assert databases(path).execute(query).fetchall() == []


def test_a_file_that_only_has_the_name_of_a_trace_is_refused_in_one_line(tmp_path):
    if not NO_TRACE.exists():
        pytest.skip("the folder shared/traces is not beside the checkout")
    from traceq.errors import TraceqError
    from traceq.loading.ingest import ingest

    with pytest.raises(TraceqError) as caught:
        ingest([NO_TRACE], tmp_path / "x.duckdb")
    assert NO_TRACE.name in str(caught.value)
    assert "\n" not in str(caught.value)
