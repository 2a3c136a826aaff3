-- idle_gap and idle_gap_cause: each gap with its causes, which add up to it. The definition is in docs/metrics.md.
-- reads: _gap, _host_part, _idle_piece, _overhead_piece, _overlaid, stream_wait
-- makes: _dry, _gap_drain, _gap_fault, _gap_part, _gap_slice, _gap_word, _idle_cause, idle_culprit, idle_gap_cause

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
    ('annotation', 'idle_python'),
    ('cpu', 'idle_cpu')
) as t (activity, cause);

-- What ends the gap may have been told to wait for an event; when the last work it waited for ended, or NULL when that is not known.
create temp table _gap_wait as
select next_slice_id, max(finished) as finished
from stream_wait
where next_slice_id is not null
group by next_slice_id;

-- The first work of a stream, launched long before it starts while nothing launched before it in the capture is still to end: what
-- it waits for was launched before the capture. A launch takes microseconds, and the first of a capture some hundred of them.
create temp table _behind_earlier_work as
with
first_of_stream as (
    select arg_min(slice_id, _in_time(ts, slice_id)) as slice_id
    from gpu_slice
    group by pid, device, context, stream
),

waiting as (
    select g.slice_id, g.pid, l.ts, l.ts_end as launched
    from first_of_stream
    inner join gpu_slice as g using (slice_id)
    inner join cpu_slice as l on l.slice_id = g.launch_id
    where g.ts - l.ts_end > 1000000
)

select slice_id
from waiting as w
where not exists (
    from gpu_slice as g
    inner join cpu_slice as l on l.slice_id = g.launch_id
    where l.ts < w.ts and g.ts_end > w.launched
)
-- These calls return when the device is done with all work before them: what was launched before the capture is done then.
and not exists (
    from cpu_slice as c
    inner join thread as t using (thread_id)
    where
        t.pid is not distinct from w.pid
        and c.ts_end <= w.ts
        and c.kind = 'runtime'
        and regexp_matches(c.name, '^(cuda|cu|hip)(DeviceSynchronize|CtxSynchronize|HostAlloc|MallocHost|MemAllocHost|HostMalloc|FreeHost|Free)(_v\d+)?$')
);

-- Before the first work of a device that waits so, all is earlier work: what ended it was in the queue before the capture began.
create temp table _gap_of_earlier_work as
select gap_id
from _gap
where
    next_slice_id in (from _behind_earlier_work)
    and next_slice_id in (select arg_min(slice_id, _in_time(ts, slice_id)) from gpu_slice group by device);

create temp table _gap_part as
with
part as (
    select gap_id, ts, ts_end, activity, slice_id
    from _host_part
    anti join _overlaid using (gap_id, ts)
    union all
    select o.gap_id, p.ts, p.ts_end, if(p.slice_id is null, o.activity, p.activity), coalesce(p.slice_id, o.slice_id)
    from _overhead_piece as p
    inner join _overlaid as o using (interval_id)
)

-- the host was late
select
    p.gap_id, p.ts, p.ts_end,
    if(e.gap_id is null, coalesce(c.cause, 'idle_unattributed'), 'idle_earlier_work') as cause,
    if(e.gap_id is null, p.slice_id, null) as slice_id
from part as p
left join _idle_cause as c using (activity)
left join _gap_of_earlier_work as e using (gap_id)
union all
-- the host was in time, or the launch was on its way
select
    g.gap_id,
    greatest(g.ts, g.launched),
    g.ts_end,
    case
        when w.next_slice_id is not null and coalesce(w.finished >= greatest(g.ts, g.launched), true) then 'idle_dependency'
        when g.next_slice_id in (select slice_id from _behind_earlier_work) then 'idle_earlier_work'
        else 'idle_launch_latency'
    end,
    g.launch_slice_id
from _gap as g
left join _gap_wait as w using (next_slice_id)
where g.launched < g.ts_end
union all
-- nobody knows
select gap_id, ts, ts_end, 'idle_unattributed', null
from _gap
where thread_id is null;

create temp table _gap_slice_part as
select gap_id, cause, slice_id, min(ts) as ts, sum(ts_end - ts)::bigint as dur
from _gap_part
group by gap_id, cause, slice_id;

insert into idle_gap_cause
select
    $trace_id as trace_id,
    gap_id,
    cause,
    min(ts) as ts,
    sum(dur)::bigint as dur,
    max_by(slice_id, _longest_first(dur, ts)) filter (slice_id is not null) as cpu_slice_id,
    max(dur) filter (slice_id is not null and cause not in ('idle_launch_latency', 'idle_dependency', 'idle_earlier_work'))::bigint as slice_dur
from _gap_slice_part
group by gap_id, cause
order by gap_id, ts, cause;

-- What the host did while it was late. While a launch is on its way, or work waits for other work, the host may do anything.
insert into idle_culprit
select $trace_id as trace_id, gap_id, cause, slice_id, dur
from _gap_slice_part
where slice_id is not null and cause not in ('idle_launch_latency', 'idle_dependency', 'idle_earlier_work')
order by gap_id, ts, slice_id;

drop table _gap_slice_part;

create temp table _gap_fault as
select
    gap_id,
    max_by(cause, _longest_first(dur, ts)) as cause,
    arg_max_null(cpu_slice_id, _longest_first(dur, ts)) as cpu_slice_id
from idle_gap_cause
group by gap_id;

-- The host slices that are named, looked up once, by numbers of names: joins of names hold the memory of all of them, and several in
-- one statement at once.
create temp table _gap_around as
select
    slice_id,
    if(kind = 'annotation', slice_id, annotation_id) as annotation_id,
    if(kind = 'op', slice_id, operator_id) as operator_id
from cpu_slice
where slice_id in (select cpu_slice_id from _gap_fault);

create temp table _gap_word as
select name, row_number() over ()::integer as number
from (
    select distinct name
    from cpu_slice
    where kind in ('annotation', 'op')
);

create temp table _gap_name as
select c.slice_id, w.number
from cpu_slice as c
inner join _gap_word as w using (name)
where c.slice_id in (select operator_id from _gap_around union select annotation_id from _gap_around);

create temp table _gap_annotation as
select g.slice_id, g.operator_id, n.number
from _gap_around as g
left join _gap_name as n on n.slice_id = g.annotation_id;

create temp table _gap_slice as
select g.slice_id, g.number as annotation_number, n.number as operator_number
from _gap_annotation as g
left join _gap_name as n on n.slice_id = g.operator_id;

drop table _gap_annotation;
drop table _gap_name;
drop table _gap_around;

-- Of a gap's first pieces those in which the host waits for a device.
create temp table _gap_drain as
select g.gap_id, p.synchronizing_id as slice_id
from _idle_piece as p
inner join _gap as g on g.gap_id = p.interval_id and g.ts = p.ts
where p.synchronizing_id is not null;

-- Where a call that waits let the device run dry, and for how long it had held the host by then: so far ahead the host would have been.
create temp table _dry as
select
    g.device,
    d.slice_id as drained_by,
    any_value(c.pid) as pid,
    min(g.ts) as ts,
    min(g.ts) - any_value(c.ts) as held
from _gap_drain as d
inner join _gap as g using (gap_id)
inner join (
    select c.slice_id, c.ts, t.pid
    from cpu_slice as c
    inner join thread as t using (thread_id)
) as c on c.slice_id = d.slice_id
group by g.device, d.slice_id;
