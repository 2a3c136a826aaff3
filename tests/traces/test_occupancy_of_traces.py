"""Occupancy and shares of time of every kernel of the real traces, against what the profiler wrote and a second reckoning."""

from __future__ import annotations

import pytest
from raw_slices import list_intervals, measure_union
from trace_files import every_trace, read_raw

# Without opting in a block has no more shared memory than this. PyTorch asks the calculator without opting in, and writes 0.
DEFAULT_SHARED_MEMORY = 49152
# PyTorch writes whole percents.
HALF_A_PERCENT = 0.005 + 1e-9

RECORDED = """
    select g.shared_memory, o.recorded_occupancy, o.estimated_occupancy, m.compute_capability
    from kernel_occupancy as o
    inner join gpu_slice as g using (slice_id)
    inner join device_model as m on m.device = o.device
    where g.args like '%est. achieved occupancy%'
"""


@every_trace
def test_estimated_occupancy_is_what_the_profiler_wrote(path, databases):
    """Differences are those of docs/decisions/0010-occupancy.md."""
    for shared, recorded, estimated, capability in databases(path).execute(RECORDED).fetchall():
        assert recorded is not None
        if capability is None:
            # The trace does not say on which GPU: there is nothing to compute it from.
            assert estimated is None
        elif shared > DEFAULT_SHARED_MEMORY and capability >= "8.0":
            assert recorded == 0 < estimated
        else:
            assert abs(estimated - recorded) <= HALF_A_PERCENT


@every_trace
def test_exclusive_durations_add_up_to_the_time_in_which_any_kernel_runs(path, databases):
    query = "select device, sum(exclusive_dur) from kernel_occupancy group by device"
    found = dict(databases(path).execute(query).fetchall())
    rows = [row for row in read_raw(path).device if row.kind == "kernel"]
    devices = {row.device for row in rows}
    expected = {each: measure_union(list_intervals(row for row in rows if row.device == each)) for each in devices}
    assert found == pytest.approx(expected, rel=1e-9)


@every_trace
def test_every_kernel_has_a_row_and_shares_are_shares(path, databases):
    database = databases(path)
    kernels = database.execute("select count(*) from gpu_slice where kind = 'kernel'").fetchone()
    assert database.execute("select count(*) from kernel_occupancy").fetchone() == kernels
    outside = database.execute(
        "select * from kernel_occupancy where estimated_occupancy > theoretical_occupancy + 1e-9"
        " or theoretical_occupancy not between 0 and 1 or wave_efficiency not between 0 and 1"
        " or sm_coverage not between 0 and 1 or exclusive_dur < 0 or (resident_blocks is null) <> (limiter = 'unknown')"
    ).fetchall()
    assert outside == []


@every_trace
def test_what_traceq_knows_of_gpus_is_what_traces_say_of_them(path, databases):
    """Memory bandwidth follows from clocks in the trace and is rounded in datasheets; capacity is what is left of it."""
    rows = (
        databases(path)
        .execute(
            """
        select d.sm_count, m.sm_count, d.memory_bandwidth, m.memory_bandwidth, d.memory_bytes, m.memory_bytes
        from device as d
        inner join device_model as n using (device)
        inner join gpu_model as m on m.model = n.model
        where d.source = 'trace'
        """
        )
        .fetchall()
    )
    for sms, known_sms, bandwidth, known_bandwidth, memory, known_memory in rows:
        assert None in (sms, known_sms) or sms == known_sms
        assert bandwidth is None or bandwidth == pytest.approx(known_bandwidth, rel=0.03)
        assert None in (memory, known_memory) or memory == pytest.approx(known_memory, rel=0.08)
    rows = (
        databases(path)
        .execute(
            """
        select d.max_threads_per_sm, a.max_threads_per_sm, d.max_blocks_per_sm, a.max_blocks_per_sm,
            d.registers_per_sm, a.registers_per_sm, d.shared_memory_per_sm, a.shared_memory_per_sm
        from device as d
        inner join device_model as m using (device)
        inner join gpu_architecture as a on a.compute_capability = m.compute_capability
        """
        )
        .fetchall()
    )
    for row in rows:
        for said, known in zip(row[::2], row[1::2], strict=True):
            assert said is None or said == known


@every_trace
def test_no_kernel_counts_for_two_operators_and_no_operator_beats_the_peak(path, databases):
    database = databases(path)
    (all_kernels,) = database.execute("select coalesce(sum(exclusive_dur), 0) from kernel_occupancy").fetchone()
    counted, of_operators, rows = database.execute(
        "select coalesce(sum(kernels), 0), coalesce(sum(gpu_dur), 0), count(*) from operator_cost"
    ).fetchone()
    assert counted <= database.execute("select count(*) from kernel_occupancy").fetchone()[0]
    # each row is rounded to a nanosecond
    assert of_operators <= all_kernels + rows
    faster = database.execute("select * from operator_cost where achieved > peak").fetchall()
    assert faster == []
