"""copy_overlap and copy_total on the real traces: identities, the figures of nsys and HTA, and what each trace is known for."""

from __future__ import annotations

from pathlib import Path

import peers
import pytest
from agreement import assert_same_rows
from trace_files import TRACES, every_nsys_trace, every_torch_trace, every_trace

MEGABYTE = 1_000_000
# nsys leaves smaller copies to the device out of its rule on synchronous copies.
SMALL = 64_000

OPERATION = """
    '[CUDA memcpy ' || if(copy_kind = 'um', 'Unified ', '') || case direction
        when 'h2d' then 'Host-to-Device' when 'd2h' then 'Device-to-Host'
        when 'd2d' then 'Device-to-Device' when 'p2p' then 'Peer-to-Peer' end || ']'
"""

BROKEN = {
    "there is a row for every copy that is not communication": """
        (select slice_id from gpu_slice where kind = 'memcpy' and not is_communication
        except all select slice_id from copy_overlap)
        union all
        (select slice_id from copy_overlap
        except all select slice_id from gpu_slice where kind = 'memcpy' and not is_communication)
    """,
    "the parts of a copy add up to it": """
        select slice_id from copy_overlap
        where overlapped + hidden + exposed <> dur or least(overlapped, hidden, exposed, could_overlap) < 0
            or could_overlap > exposed
    """,
    "the parts of a total add up to it": """
        select category from copy_total where overlapped + hidden + exposed <> busy or could_overlap > exposed
    """,
    "what is exposed in total is the ledger's": """
        with total as (select device, step, category, exposed from copy_total where step is not null and exposed > 0),
        ledger as (
            select device, step, category, dur from time_ledger where starts_with(category, 'copy_')
        )
        (from total except from ledger) union all (from ledger except from total)
    """,
    "copies are busy when device_activity says so": """
        with activity as (
            select sum(dur) filter (copy_h2d > 0) as h2d, sum(dur) filter (copy_d2h > 0) as d2h,
                sum(dur) filter (copy_other > 0) as other
            from device_activity
        ),
        total as (
            select sum(busy) filter (category = 'copy_h2d') as h2d, sum(busy) filter (category = 'copy_d2h') as d2h,
                sum(busy) filter (category = 'copy_other') as other
            from copy_total
        )
        select 1 from activity, total
        where coalesce((activity.h2d, activity.d2h, activity.other) <> (total.h2d, total.d2h, total.other), false)
            or (activity.h2d is null) <> (total.h2d is null) or (activity.d2h is null) <> (total.d2h is null)
            or (activity.other is null) <> (total.other is null)
    """,
    "no copy is faster than the best of its like, and no d2h copy comes back twice": """
        select slice_id from copy_overlap where bandwidth > best_bandwidth or (bandwidth is null) <> (bytes is null or dur = 0)
        union all
        select returns_slice_id from copy_overlap where returns_slice_id is not null
        group by returns_slice_id having count(*) > 1
    """,
    "no copy is faster than the link it takes": "select slice_id from copy_overlap where bandwidth > link_bandwidth",
    "a copy that comes back had left before, with as many bytes": """
        select back.slice_id from copy_overlap as back
        left join copy_overlap as away on away.slice_id = back.returns_slice_id
        left join gpu_slice as there on there.slice_id = away.slice_id
        left join launch on launch.slice_id = back.slice_id
        where back.returns_slice_id is not null and (
            away.copy_kind is distinct from 'd2h' or back.copy_kind <> 'h2d' or away.bytes <> back.bytes
            or away.step <> back.step or away.device <> back.device or there.ts_end > launch.api_ts)
    """,
    "what a copy's call says is known exactly where the call is": """
        select slice_id from copy_overlap join gpu_slice using (slice_id)
        where (launch_id is null) <> (position is null) or (launch_id is null) <> (is_blocking is null)
            or (launch_id is null) <> (host_dur is null) or (launch_id is null) <> (batch is null)
    """,
}


@every_trace
@pytest.mark.parametrize("rule", BROKEN)
def test_it_holds_that(rule, path, databases):
    broken = databases(path).execute(BROKEN[rule]).fetchmany(5)
    assert not broken, f"not so: {rule}, e.g. {broken}"


# ---- nsys


@every_nsys_trace
def test_times_of_copies_are_those_of_cuda_gpu_mem_time_sum(path, databases):
    report = [
        row for row in peers.read_nsys_report(path, "cuda_gpu_mem_time_sum") if row["Operation"] != "[CUDA memset]"
    ]
    query = f"select {OPERATION}, sum(dur), count(*), min(dur), max(dur) from copy_overlap group by 1"
    columns = ("Operation", "Total Time (ns)", "Count", "Min (ns)", "Max (ns)")
    found = [tuple(str(cell) for cell in row) for row in databases(path).execute(query).fetchall()]
    assert_same_rows(found, [tuple(row[column] for column in columns) for row in report])
    totals = databases(path).execute("select sum(copies), sum(dur) from copy_total").fetchone()
    assert totals == (_sum(report, "Count"), _sum(report, "Total Time (ns)"))


@every_nsys_trace
def test_sizes_of_copies_are_those_of_cuda_gpu_mem_size_sum(path, databases):
    """nsys prints megabytes of 10^6 bytes with three decimals."""
    report = [
        row for row in peers.read_nsys_report(path, "cuda_gpu_mem_size_sum") if row["Operation"] != "[CUDA memset]"
    ]
    query = f"select {OPERATION}, sum(bytes) / {MEGABYTE} from copy_overlap group by 1"
    expected = {row["Operation"]: pytest.approx(float(row["Total (MB)"]), abs=0.0005001) for row in report}
    assert dict(databases(path).execute(query).fetchall()) == expected
    (total,) = databases(path).execute("select sum(bytes) from copy_total").fetchone()
    assert (total or 0) / MEGABYTE == pytest.approx(
        sum(float(row["Total (MB)"]) for row in report), abs=0.0005001 * max(len(report), 1)
    )


RULE = """
    select o.dur, g.ts, coalesce(g.src_memory, ''), coalesce(g.dst_memory, ''), g.pid, g.device, g.context, g.stream
    from copy_overlap as o join gpu_slice as g using (slice_id)
"""


@every_nsys_trace
def test_pageable_copies_of_asynchronous_calls_are_those_of_cuda_memcpy_async(path, databases):
    rows = _run_rule(path, "cuda_memcpy_async")
    query = f"{RULE} where o.is_async_call and o.is_pageable"
    assert sorted(databases(path).execute(query).fetchall()) == rows
    # and every one of them blocks
    assert sorted(databases(path).execute(f"{query} and o.is_blocking").fetchall()) == rows


@every_nsys_trace
def test_copies_of_synchronous_calls_are_those_of_cuda_memcpy_sync(path, databases):
    """Of them those with host memory block; the calls of copies inside and between GPUs return before these are done."""
    rows = _run_rule(path, "cuda_memcpy_sync")
    query = f"{RULE} where not o.is_async_call and not (o.direction = 'h2d' and o.bytes <= {SMALL})"
    assert sorted(databases(path).execute(query).fetchall()) == rows
    of_the_host = [row for row in rows if {row[2], row[3]} & {"pageable", "pinned"}]
    assert sorted(databases(path).execute(f"{query} and o.is_blocking").fetchall()) == of_the_host


def _run_rule(path: Path, name: str) -> list[tuple]:
    columns = ("PID", "Device ID", "Context ID", "Stream ID")
    return sorted(
        (
            int(row["Duration (ns)"]),
            int(row["Start (ns)"]),
            row["Src Kind"].lower(),
            row["Dst Kind"].lower(),
            *(int(row[column]) for column in columns),
        )
        for row in peers.read_nsys_report(path, name)
    )


def _sum(report: list[dict[str, str]], column: str) -> int | None:
    return sum(int(row[column]) for row in report) if report else None


# ---- HTA

# HTA counts what was launched before the last of several steps, and memsets with copies.
KEPT = """
    with last as (select max(ts) as ts, count(*) as steps from cpu_slice where name like 'ProfilerStep#%'),
    kept as (
        select gpu_slice.slice_id, gpu_slice.device, gpu_slice.kind, gpu_slice.ts, gpu_slice.ts_end
        from gpu_slice left join cpu_slice as call on call.slice_id = gpu_slice.launch_id, last
        where (last.steps < 2 or call.ts < last.ts) and not is_communication and gpu_slice.kind in ('memcpy', 'memset')
    )
"""
BESIDE = f"""
    {KEPT}
    select coalesce(sum(dur) filter (compute > 0), 0)::bigint,
        coalesce(sum(dur) filter (compute = 0 and communication > 0), 0)::bigint,
        coalesce(sum(dur) filter (compute = 0 and communication = 0), 0)::bigint
    from device_activity as s
    where exists (select 1 from kept where device = s.device and ts <= s.ts and ts_end >= s.ts + s.dur)
"""
OVERLAPPED = f"""
    {KEPT}
    select (coalesce(sum(c.overlapped), 0) + coalesce(sum(s.dur), 0))::bigint
    from kept
    left join copy_overlap as c on c.slice_id = kept.slice_id
    left join device_activity as s
        on kept.kind = 'memset' and s.device = kept.device and s.ts >= kept.ts and s.ts + s.dur <= kept.ts_end
        and s.compute > 0
"""
# The device runs behind the host so far that work of the last step, which HTA leaves out, runs beside copies of the one before.
RUNS_BEHIND = "hta_neg_queue_rank0"


@every_torch_trace
def test_overlap_of_copies_is_that_of_hta_where_hta_does_not_round(path, databases):
    facts = {row["kernel_type"]: 1000 * row["sum"] for row in peers.hta_kinds(path)}
    database = databases(path)
    if database.execute("select bool_or(ts % 1000 <> 0 or dur % 1000 <> 0) from gpu_slice").fetchone()[0]:
        pytest.skip("HTA rounds this file")
    computing = sum(dur for kind, dur in facts.items() if "COMPUTATION" in kind and "MEMORY" in kind)
    expected = (computing, facts.get("COMMUNICATION overlapping MEMORY", 0), facts.get("MEMORY", 0))
    found = database.execute(BESIDE).fetchone()
    if path.name.startswith(RUNS_BEHIND):
        assert (found[0] - expected[0], found[1], expected[2] - found[2]) == (906_000, expected[1], 906_000)
    else:
        assert found == expected
        assert database.execute(OVERLAPPED).fetchone() == (computing,)


# ---- what the traces are known for


@pytest.fixture
def ask(databases):
    def query_rows(name: str, query: str) -> list[tuple]:
        path = TRACES / name
        if not path.exists():
            pytest.skip(f"{name} is not there")
        return databases(path).execute(query).fetchall()

    return query_rows


@pytest.mark.slow
def test_most_of_the_batches_of_the_control_run_are_copied_beside_compute(ask):
    query = "select sum(busy), sum(overlapped), sum(hidden), sum(exposed) from copy_total where category = 'copy_h2d'"
    # 51 ms, of which kernels, compute or communication, cover 35
    assert ask("torch/hta_trace_diff_control.json.gz", query) == [(50_656_000, 33_887_000, 761_000, 16_008_000)]
    query = "select position, count(*) from copy_overlap where copy_kind = 'h2d' group by position order by position"
    assert ask("torch/hta_trace_diff_control.json.gz", query) == [("data", 144), ("other", 6)]


def test_four_streams_do_not_overlap_their_copies_with_anything(ask):
    """The copies are of pinned memory: the export says so, and nsys' rule on pageable ones finds none."""
    query = """
        select category, copies, dur, overlapped, exposed from copy_total order by category
    """
    assert ask("nsys/testcuda_4streams_report1.sqlite", query) == [
        ("copy_d2h", 4, 30_323_492, 0, 30_323_492),
        ("copy_h2d", 8, 61_322_687, 0, 61_322_687),
    ]
    query = "select distinct is_pageable, is_async_call, is_blocking, position from copy_overlap"
    assert ask("nsys/testcuda_4streams_report1.sqlite", query) == [(False, True, False, "other")]


def test_migrations_of_unified_memory_have_a_direction(ask):
    query = """
        select direction, category, count(*), sum(bytes), sum(dur), sum(overlapped), bool_and(is_blocking is null)
        from copy_overlap group by all order by direction
    """
    assert ask("nsys/ynan1_uvm_report2.sqlite", query) == [
        ("d2h", "copy_other", 1536, 268_435_456, 42_380_480, 0, True),
        ("h2d", "copy_other", 834, 268_500_992, 44_336_674, 22_814_146, True),
    ]
    # The capture did not ask for page faults.
    query = (
        "select sum(migrations_h2d), sum(bytes_d2h), sum(dur_h2d), sum(gpu_faults), sum(cpu_faults) from unified_memory"
    )
    assert ask("nsys/ynan1_uvm_report2.sqlite", query) == [(834, 268_435_456, 44_336_674, None, None)]


@pytest.mark.slow
def test_a_solver_reads_its_error_back_every_time(ask):
    query = """
        select count(*), is_blocking, sum(bytes), max(batch) from copy_overlap where category = 'copy_d2h' group by all
    """
    assert ask("nsys/nways_gh200_jacobi.sqlite", query) == [(1001, True, 1_073_745_824, 1)]


@pytest.mark.parametrize("workers", [0, 4])
def test_batches_are_recognised_where_nothing_marks_the_forward_pass(workers, ask):
    query = "select position, is_pageable, is_blocking, count(*) from copy_overlap group by all"
    assert ask(f"torch/kineto_resnet50_w{workers}.v19.pt.trace.json.gz", query) == [("data", True, True, 12)]
