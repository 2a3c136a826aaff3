"""What must hold on any trace, whatever is in it. Queries return the rows that break the rule."""

from __future__ import annotations

import pytest
from trace_files import every_trace

# Where slices overlap, one that was around a parent when it started may have ended before the child does.
NESTED = "and not exists (select 1 from import_note where code = 'overlapping_slices')"

# torch.autograd.profiler.emit_nvtx makes operators ranges.
IS_OPERATOR = "({0}.kind = 'op' or ({0}.kind = 'annotation' and contains({0}.name, ', op_id = ')))"

BROKEN = {
    "a slice ends at its start plus its duration": """
        select slice_id from cpu_slice where ts_end is distinct from ts + dur
        union all select slice_id from gpu_slice where ts_end is distinct from ts + dur
    """,
    "no duration is negative": """
        select slice_id from cpu_slice where dur < 0
        union all select slice_id from gpu_slice where dur < 0
        union all select slice_id from gpu_annotation where dur < 0
        union all select slice_id from synchronization where dur < 0
    """,
    "an id belongs to one slice": """
        select slice_id from (
            select slice_id from cpu_slice
            union all select slice_id from gpu_slice
            union all select slice_id from gpu_annotation
            union all select slice_id from synchronization
            union all select slice_id from cuda_event
        ) group by slice_id having count(*) > 1
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
    "a parent runs on the same thread when its child starts": """
        select child.slice_id from cpu_slice as child left join cpu_slice as parent on parent.slice_id = child.parent_id
        where child.parent_id is not null
            and (parent.slice_id is null or parent.thread_id <> child.thread_id
                 or child.ts < parent.ts or child.ts > parent.ts_end)
    """,
    "a child is one deeper than its parent": f"""
        select child.slice_id from cpu_slice as child join cpu_slice as parent on parent.slice_id = child.parent_id
        where child.depth is distinct from parent.depth + 1 {NESTED}
    """,
    "slices without a parent are at depth 0 or need not nest": """
        select slice_id from cpu_slice where parent_id is null and depth <> 0
    """,
    "the operator around a slice is its parent or the one around its parent": f"""
        select child.slice_id from cpu_slice as child left join cpu_slice as parent on parent.slice_id = child.parent_id
        where child.depth is not null and child.operator_id is distinct from
            case when {IS_OPERATOR.format("parent")} then parent.slice_id else parent.operator_id end {NESTED}
    """,
    "the annotation around a slice is its parent or the one around its parent": f"""
        select child.slice_id from cpu_slice as child left join cpu_slice as parent on parent.slice_id = child.parent_id
        where child.depth is not null and child.annotation_id is distinct from
            case when parent.kind = 'annotation' then parent.slice_id else parent.annotation_id end {NESTED}
    """,
    "what launched a device slice is an API call of the same correlation and process": """
        select gpu_slice.slice_id from gpu_slice
        left join cpu_slice on cpu_slice.slice_id = gpu_slice.launch_id
        left join thread on thread.thread_id = cpu_slice.thread_id
        where gpu_slice.launch_id is not null
            and (cpu_slice.kind is distinct from 'runtime'
                 or cpu_slice.correlation_id is distinct from gpu_slice.correlation_id
                 or gpu_slice.pid <> thread.pid)
    """,
    "a device slice whose call is in the trace has a launch": """
        select gpu_slice.slice_id from gpu_slice
        join cpu_slice on cpu_slice.correlation_id = gpu_slice.correlation_id and cpu_slice.kind = 'runtime'
        join thread on thread.thread_id = cpu_slice.thread_id
        where gpu_slice.launch_id is null and coalesce(gpu_slice.pid, thread.pid) = thread.pid
    """,
    "a device slice belongs to the step of its launch, or was launched after all of the last step": """
        with placed as (
            select gpu_slice.slice_id, gpu_slice.step, coalesce(launch.ts, gpu_slice.ts) as at
            from gpu_slice left join cpu_slice as launch on launch.slice_id = gpu_slice.launch_id
        )
        select slice_id from placed left join step on placed.at >= step.ts and placed.at < step.ts_end
        where placed.step is distinct from step.step
            and not (placed.step is null
                and step.step = (select max(step) from step)
                and placed.at > (select max(placed.at) from placed where step = (select max(step) from step)))
    """,
    "steps follow each other without a gap": """
        select step from (select *, lead(ts) over (order by step) as next_ts from step) where ts_end <> next_ts
    """,
    "steps are numbered from 0 and have a duration": """
        select step from (select *, row_number() over (order by ts) - 1 as place from step)
        where step <> place or dur <= 0 or ts_end <> ts + dur
    """,
    "the ledger of each device adds up to each step": """
        select device, step from (select distinct device from gpu_slice) cross join step
        left join (select device, step, sum(dur) as total from time_ledger group by all) using (device, step)
        where total is distinct from step.dur
    """,
    "the activity of each device adds up to each step": """
        select device, step from (select distinct device from gpu_slice) cross join step
        left join (select device, step, sum(dur) as total from device_activity group by all) using (device, step)
        where total is distinct from step.dur
    """,
    "the ledger is the activity of each device, summed": """
        with activity as (
            select device, step, category, sum(dur) as dur from device_activity where step is not null group by all
        ),
        ledger as (
            select device, step, if(starts_with(category, 'idle_'), 'idle', category) as category, sum(dur) as dur
            from time_ledger group by all
        )
        (from activity except from ledger) union all (from ledger except from activity)
    """,
    "idle gaps are the idle segments of each device inside steps": """
        with gap as (select device, step, ts, dur from idle_gap),
        segment as (select device, step, ts, dur from device_activity where category = 'idle' and step is not null)
        (from gap except all from segment) union all (from segment except all from gap)
    """,
    "the causes of a gap add up to it, and its own is the largest": """
        select g.gap_id from idle_gap as g
        left join (
            select gap_id, sum(dur) as total, max(dur) as longest, min(dur) as shortest, max(dur) filter (is_own) as own
            from (
                select c.gap_id, c.dur, c.cause = g.cause as is_own
                from idle_gap_cause as c join idle_gap as g using (gap_id)
            ) group by gap_id
        ) as c using (gap_id)
        where c.total is distinct from g.dur or c.own is distinct from c.longest or c.shortest <= 0
    """,
    "the ledger of the training thread adds up to each step, wherever there is a host side": """
        select step from step
        left join (select step, sum(dur) as total, min(dur) as shortest from host_ledger group by step) using (step)
        where (total is distinct from step.dur or shortest <= 0)
            and exists (select 1 from cpu_slice where depth is not null)
    """,
    "the ledger has no empty entries": "select step from time_ledger where dur <= 0",
    "segments of a device's activity lie inside their step": """
        select device_activity.ts from device_activity join step using (step)
        where device_activity.ts < step.ts or device_activity.ts + device_activity.dur > step.ts_end
    """,
    "segments of a device's activity do not overlap": """
        select ts from (select *, lead(ts) over (partition by device order by ts, dur) as next_ts from device_activity)
        where dur <= 0 or ts + dur > next_ts
    """,
    "a device is never busier than the time it has": """
        select device, step from time_ledger join step using (step) where not starts_with(category, 'idle_')
        group by device, step, step.dur having sum(time_ledger.dur) > step.dur
    """,
    "the statistics of steps are those of the steps that count": """
        select 1 from step_stats, (
            select count(*) filter (excluded is null) as steps, sum(dur) filter (excluded is null) as total,
                min(dur) filter (excluded is null) as shortest, max(dur) filter (excluded is null) as longest,
                count(*) filter (excluded is not null) as excluded from step) as counted
        where step_stats.steps <> counted.steps or step_stats.total <> counted.total
            or step_stats.min <> counted.shortest or step_stats.max <> counted.longest
            or step_stats.excluded <> counted.excluded
    """,
}


@every_trace
@pytest.mark.parametrize("rule", BROKEN)
def test_it_holds_that(rule, path, databases):
    broken = databases(path).execute(BROKEN[rule]).fetchmany(5)
    assert not broken, f"not so: {rule}, e.g. {broken}"


@every_trace
def test_every_trace_has_at_least_one_step(path, databases):
    assert databases(path).execute("select count(*) from step").fetchone() != (0,)
