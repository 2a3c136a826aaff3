"""traceq's tables give the figures of nsys' own reports, to the nanosecond where nsys prints nanoseconds."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import peers
import pytest
from agreement import assert_same_rows, assert_same_values
from raw_nsys import range_of
from trace_files import every_nsys_trace, strip_container

SUFFIX = re.compile(r"(_v\d{4,}|_ptsz|_ptds)+$")
OPERATION = """
    case when kind = 'memset' then '[CUDA memset]'
    else '[CUDA memcpy ' || if(copy_kind = 'um', 'Unified ', '') || case substr(name, 8, 4)
        when 'HtoD' then 'Host-to-Device' when 'DtoH' then 'Device-to-Host'
        when 'DtoD' then 'Device-to-Device' when 'PtoP' then 'Peer-to-Peer' end || ']'
    end
"""
MEGABYTE = 1_000_000
GAP = 1_000_000
# This export repeats each call to carry its call stack, and nsys counts both.
COUNTED_TWICE = "pipit_saxpy_mpi"
LAUNCH_COLUMNS = (
    *("PID", "TID", "DevId", "Kernel Name", "Count", "QCount"),
    *("TMin (ns)", "TMax (ns)", "AMin (ns)", "AMax (ns)"),
    *("QMin (ns)", "QMax (ns)", "KMin (ns)", "KMax (ns)"),
)
# nsys leaves the queue out where the kernel started before the call returned.
LAUNCHES = """
    select thread.pid, tid, device, kernel.name, count(*), count(*) filter (queued >= 0),
        min(total), max(total), min(call.dur), max(call.dur),
        coalesce(min(queued) filter (queued >= 0)::varchar, ''), coalesce(max(queued) filter (queued >= 0)::varchar, ''),
        min(kernel.dur), max(kernel.dur), call.name
    from gpu_slice as kernel join cpu_slice as call on call.slice_id = kernel.launch_id
        join thread using (thread_id),
        lateral (select kernel.ts - call.ts_end as queued, greatest(kernel.ts_end, call.ts_end) - call.ts as total)
    where kernel.kind = 'kernel' group by all
"""


@every_nsys_trace
def test_kernels_are_those_of_cuda_gpu_kern_sum(path, databases):
    report = peers.read_nsys_report(path, "cuda_gpu_kern_sum")
    query = "select name, sum(dur), count(*), min(dur), max(dur) from gpu_slice where kind = 'kernel' group by name"
    columns = ("Name", "Total Time (ns)", "Instances", "Min (ns)", "Max (ns)")
    assert_same_rows(_as_text(databases(path), query), [tuple(row[column] for column in columns) for row in report])


@every_nsys_trace
def test_times_of_copies_are_those_of_cuda_gpu_mem_time_sum(path, databases):
    report = peers.read_nsys_report(path, "cuda_gpu_mem_time_sum")
    query = (
        f"select {OPERATION}, sum(dur), count(*), min(dur), max(dur) from gpu_slice where kind <> 'kernel' group by 1"
    )
    columns = ("Operation", "Total Time (ns)", "Count", "Min (ns)", "Max (ns)")
    assert_same_rows(_as_text(databases(path), query), [tuple(row[column] for column in columns) for row in report])


@every_nsys_trace
def test_sizes_of_copies_are_those_of_cuda_gpu_mem_size_sum(path, databases):
    """nsys prints megabytes of 10^6 bytes with three decimals."""
    report = peers.read_nsys_report(path, "cuda_gpu_mem_size_sum")
    query = f"select {OPERATION}, count(*), sum(bytes) from gpu_slice where kind <> 'kernel' group by 1"
    found = {name: (count, size / MEGABYTE) for name, count, size in databases(path).execute(query).fetchall()}
    expected = {row["Operation"]: (int(row["Count"]), float(row["Total (MB)"])) for row in report}
    assert found == {name: (count, pytest.approx(size, abs=0.0005001)) for name, (count, size) in expected.items()}


@every_nsys_trace
def test_api_calls_are_those_of_cuda_api_sum(path, databases):
    expected: Counter[tuple[str, str]] = Counter()
    _skip_if_counted_twice(path)
    for row in peers.read_nsys_report(path, "cuda_api_sum"):
        name = SUFFIX.sub("", row["Name"])
        expected[name, "calls"] += int(row["Num Calls"])
        expected[name, "dur"] += int(row["Total Time (ns)"])
    query = "select name, count(*), sum(dur) from cpu_slice where kind = 'runtime' group by name"
    found = {}
    for name, calls, dur in databases(path).execute(query).fetchall():
        found |= {(name, "calls"): calls, (name, "dur"): dur}
    assert_same_values(found, expected)


@every_nsys_trace
def test_ranges_are_those_of_nvtx_sum(path, databases):
    """nsys puts the name of the domain, where it has one, before the name of the range."""
    report = peers.read_nsys_report(path, "nvtx_sum")
    query = """
        select if(category is null, name, category || ':' || name), sum(dur), count(*) from cpu_slice
        where kind in ('annotation', 'op') group by 1
    """
    found = {name: (total, count) for name, total, count in databases(path).execute(query).fetchall()}
    expected = Counter(), Counter()
    for row in report:
        _, name = range_of(row["Range"], is_nested=True)
        expected[0][name] += int(row["Total Time (ns)"])
        expected[1][name] += int(row["Instances"])
    assert_same_values(found, {name: (expected[0][name], expected[1][name]) for name in expected[0]})


@every_nsys_trace
def test_idle_stretches_of_a_millisecond_are_those_of_gpu_gaps(path, databases):
    report = peers.read_nsys_report(path, "gpu_gaps")
    query = f"""
        with busy as (
            select device, ts, ts_end, max(ts_end) over (partition by device order by ts, slice_id) as busy_until
            from gpu_slice
        )
        select device, busy_until, lead(ts) over (partition by device order by ts) - busy_until as gap from busy
        qualify gap >= {GAP}
    """
    columns = ("Device ID", "Start (ns)", "Duration (ns)")
    assert_same_rows(_as_text(databases(path), query), [tuple(row[column] for column in columns) for row in report])


@every_nsys_trace
def test_launches_are_those_of_cuda_kern_exec_sum(path, databases):
    """Per thread, device, API call and kernel: how many, and the extremes of the times in call, queue and kernel."""
    _skip_if_counted_twice(path)
    report = peers.read_nsys_report(path, "cuda_kern_exec_sum")
    expected = [(*(row[column] for column in LAUNCH_COLUMNS), SUFFIX.sub("", row["API Name"])) for row in report]
    assert_same_rows(_as_text(databases(path), LAUNCHES), expected)


def _skip_if_counted_twice(path: Path) -> None:
    if strip_container(path) == COUNTED_TWICE:
        pytest.skip("nsys counts the calls of this file twice")


def _as_text(database, query: str) -> list[tuple[str, ...]]:
    return [tuple(str(cell) for cell in row) for row in database.execute(query).fetchall()]


@every_nsys_trace
def test_projections_of_ranges_are_those_of_nvtx_gpu_proj_sum(path, databases):
    report = peers.read_nsys_report(path, "nvtx_gpu_proj_sum")
    columns = ("Range", "Total Proj Time (ns)", "Total Range Time (ns)", "Range Instances", "Total GPU Ops")
    query = """
        select name, sum(gpu_dur), sum(dur), count(*), sum(gpu_slices)
        from annotation_projection join annotation using (slice_id, name, dur) group by name
    """
    expected = {}
    for row in report:
        kind, name = range_of(row["Range"].removeprefix(":"), is_nested=True)
        if kind == "annotation":
            before = expected.get(name, [0] * 4)
            expected[name] = [one + int(row[column]) for one, column in zip(before, columns[1:], strict=True)]
    rows = [(name, *map(str, numbers)) for name, numbers in expected.items()]
    assert_same_rows(_as_text(databases(path), query), rows)
