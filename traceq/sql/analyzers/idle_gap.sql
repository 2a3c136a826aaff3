-- idle_gap and idle_gap_cause: each gap with its causes, which add up to it. The definition is in docs/metrics.md.

create temp table _idle_cause as
from (values
    ('data', 'idle_data'),
    ('checkpoint', 'idle_checkpoint'),
    ('compile', 'idle_compile'),
    ('synchronization', 'idle_sync'),
    ('allocation', 'idle_allocation'),
    ('communication', 'idle_communication'),
    ('profiler', 'idle_profiler'),
    ('os', 'idle_os'),
    ('launch', 'idle_launch'),
    ('operator', 'idle_launch'),
    ('python', 'idle_python'),
    ('annotation', 'idle_python')
) as t (activity, cause);

-- Work that was launched before the gap began, and why it did not run: its stream waited for an event, or it is not the first of
-- what one call launched (a graph) and waited for the others; else the device was not as fast as that.
create temp table _gap_enqueued as
with
launched as (
    select
        g.slice_id,
        g.device,
        g.stream,
        c.ts,
        lag(c.ts) over (partition by g.device, g.context, g.stream order by c.ts, g.slice_id) as previous_ts,
        row_number() over (partition by g.launch_id order by g.ts, g.slice_id) > 1 as follows
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
),

waiting as (
    select distinct device, stream, ts
    from synchronization
    where kind = 'stream_wait_event'
)

select g.gap_id, l.follows or (w.ts is not null and (l.previous_ts is null or w.ts >= l.previous_ts)) as waited
from _gap as g
inner join launched as l on l.slice_id = g.next_slice_id
asof left join waiting as w on w.device = l.device and w.stream = l.stream and l.ts >= w.ts
where g.launched <= g.ts;

create temp table _gap_part as
-- the host was late
select p.gap_id, p.ts, p.ts_end, coalesce(c.cause, 'idle_unattributed') as cause, p.slice_id
from _idle_piece as p
left join _idle_cause as c using (activity)
where p.activity <> 'none'
union all
select h.gap_id, p.ts, p.ts_end, coalesce(c.cause, 'idle_unattributed'), p.slice_id
from _host_piece as p
inner join _idle_hole as h using (interval_id)
left join _idle_cause as c using (activity)
union all
select gap_id, ts, ts_end, 'idle_unattributed', null
from _idle_hole
where thread_id is null
union all
-- the host was in time, or the launch was on its way
select
    g.gap_id,
    greatest(g.ts, g.launched),
    g.ts_end,
    if(coalesce(e.waited, false), 'idle_dependency', 'idle_launch_latency'),
    g.launch_slice_id
from _gap as g
left join _gap_enqueued as e using (gap_id)
where g.launched < g.ts_end
union all
-- nobody knows
select gap_id, ts, ts_end, 'idle_unattributed', null
from _gap
where thread_id is null;

insert into idle_gap_cause
with
per_slice as (
    select gap_id, cause, slice_id, min(ts) as ts, sum(ts_end - ts)::bigint as dur
    from _gap_part
    group by gap_id, cause, slice_id
)

select
    $trace_id as trace_id,
    gap_id,
    cause,
    min(ts) as ts,
    sum(dur)::bigint as dur,
    max_by(slice_id, {'dur': dur, 'ts': -ts}) filter (slice_id is not null) as cpu_slice_id
from per_slice
group by gap_id, cause
order by gap_id, ts, cause;

create temp table _gap_fault as
select gap_id, fault.cause, fault.cpu_slice_id
from (
    select gap_id, max_by({'cause': cause, 'cpu_slice_id': cpu_slice_id}, {'dur': dur, 'ts': -ts}) as fault
    from idle_gap_cause
    group by gap_id
);

-- The few host slices that are named, looked up once: joining names of all slices would need memory for all of them.
create temp table _gap_slice as
with
fault as (
    select slice_id, kind, name, operator_id, annotation_id
    from cpu_slice
    where slice_id in (select cpu_slice_id from _gap_fault)
),

around as (
    select slice_id, name
    from cpu_slice
    where slice_id in (select operator_id from fault union select annotation_id from fault)
)

select
    f.slice_id,
    if(f.kind = 'annotation', f.name, a.name) as annotation,
    if(f.kind = 'op', f.name, o.name) as operator
from fault as f
left join around as a on a.slice_id = f.annotation_id
left join around as o on o.slice_id = f.operator_id;

insert into idle_gap
select
    $trace_id as trace_id,
    g.gap_id,
    g.device,
    g.step,
    g.ts,
    g.ts_end - g.ts as dur,
    g.next_slice_id,
    g.launch_slice_id,
    g.thread_id,
    p.synchronizing_id as drained_by,
    f.cause,
    f.cpu_slice_id,
    c.annotation,
    c.operator
from _gap as g
inner join _gap_fault as f using (gap_id)
left join _idle_piece as p on p.gap_id = g.gap_id and p.ts = g.ts
left join _gap_slice as c on c.slice_id = f.cpu_slice_id
order by g.gap_id;
