"""What must hold on any trace, whatever is in it: what `traceq doctor` checks, and below what it leaves out.

The queries here return the rows that break the rule.
"""

from __future__ import annotations

import pytest
from trace_files import every_trace

from traceq.health.identities import check

# Where slices overlap, one that was around a parent when it started may have ended before the child does.
NESTED = "and not exists (select 1 from import_note where code = 'overlapping_slices')"

# Identities that have nothing to check in a trace without GPU work, copies, communication, fetches or a memory snapshot, or in
# one that is no part of a job; all others have in every trace.
NEEDS_SOMETHING = {
    *("launch", "step_of_slice", "activity_segment", "activity_step", "activity_busy", "time_ledger", "idle_gap"),
    *(
        "time_ledger_activity",
        "time_ledger_busy",
        "idle_gap_cause",
        "idle_culprit",
        "idle_culprit_slice",
        "wait_debt",
        "stall_cost",
    ),
    *("communication_overlap", "kernel_occupancy"),
    *("copy_overlap", "copy_activity", "copy_total", "collective_slice", "collective_activity", "data_fetch"),
    *("allocation_peak", "job_path", "layer"),
    *("copy_could_overlap", "dependency", "critical_path", "replay", "replay_busy", "replay_idle"),
}

# What is no business of `traceq doctor`: what its identities rest on.
BROKEN = {
    "no duration of a synchronization or a projected annotation is negative": """
        select slice_id from gpu_annotation where dur < 0
        union all select slice_id from synchronization where dur < 0
    """,
    "every thread is used and every used thread is listed once": """
        select thread_id from (select distinct thread_id, 1 as used from cpu_slice)
        full join (select thread_id, count(*) as listed from thread group by thread_id) using (thread_id)
        where used is null or listed is distinct from 1
    """,
    "a thread of a process is listed once": """
        select pid, tid from thread where pid is not null and tid is not null group by all having count(*) > 1
    """,
    "threads are numbered from 0": "select 1 from thread having max(thread_id) <> count(*) - 1",
    "every device that is used is listed once": """
        select device from (select distinct device, 1 as used from gpu_slice)
        left join (select device, count(*) as listed from device group by device) using (device)
        where listed is distinct from 1
    """,
    "the trace lasts from its first start to its last end, wherever its window of recording ends": """
        select trace_id from trace,
            (select min(ts) as first, max(ts_end) as last from (
                select ts, ts_end from cpu_slice where name <> 'Record Window End'
                union all select ts, ts_end from gpu_slice))
        where trace.ts is distinct from first or trace.ts + trace.dur is distinct from last
    """,
    "the operator around a slice is its parent or the one around its parent": f"""
        select child.slice_id from cpu_slice as child left join cpu_slice as parent on parent.slice_id = child.parent_id
        where child.depth is not null and child.operator_id is distinct from
            case when parent.kind = 'op' then parent.slice_id else parent.operator_id end {NESTED}
    """,
    "the annotation around a slice is its parent or the one around its parent": f"""
        select child.slice_id from cpu_slice as child left join cpu_slice as parent on parent.slice_id = child.parent_id
        where child.depth is not null and child.annotation_id is distinct from
            case when parent.kind = 'annotation' then parent.slice_id else parent.annotation_id end {NESTED}
    """,
}


@every_trace
def test_doctor_finds_nothing_broken(path, databases):
    checked = check(databases(path), 1)
    assert [each for each in checked if each.broken] == []
    assert {each.identity.name for each in checked if not each.checked} <= NEEDS_SOMETHING


@every_trace
@pytest.mark.parametrize("rule", BROKEN)
def test_it_holds_that(rule, path, databases):
    broken = databases(path).execute(BROKEN[rule]).fetchmany(5)
    assert not broken, f"not so: {rule}, e.g. {broken}"


@every_trace
def test_every_trace_has_at_least_one_step(path, databases):
    assert databases(path).execute("select count(*) from step").fetchone() != (0,)
