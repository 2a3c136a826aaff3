-- The tracks that have anything in the window, in the order in which they are shown. a is the thread or device, b whether the ranges
-- of the thread need not nest, or the stream (-1: unknown, below: the role of work of graphs on many streams).
with
used as (
    select 'host' as place, c.thread_id as a, (c.depth is null)::bigint as b, coalesce(l.lane, 0) as lane
    from cpu_slice as c
    left join _lane as l on l.place = 'host' and l.slice_id = c.slice_id
    where c.trace_id = $trace_id and ((c.ts <= $until and c.ts_end >= $since) or list_contains($kept::bigint[], c.slice_id))
    group by all
    union all
    select 'stream', g.device, coalesce(l.role, g.stream, -1), coalesce(l.lane, 0)
    from gpu_slice as g
    left join _lane as l on l.place = 'stream' and l.slice_id = g.slice_id
    where g.trace_id = $trace_id and ((g.ts <= $until and g.ts_end >= $since) or list_contains($kept::bigint[], g.slice_id))
    group by all
    union all
    select 'annotation', g.device, coalesce(g.stream, -1), coalesce(l.lane, 0)
    from gpu_annotation as g
    left join _lane as l on l.place = 'annotation' and l.slice_id = g.slice_id
    where g.trace_id = $trace_id and g.ts <= $until and g.ts + g.dur >= $since
    group by all
    union all
    select 'synchronization', coalesce(s.device, -1), coalesce(s.stream, -1), coalesce(l.lane, 0)
    from synchronization as s
    left join _lane as l on l.place = 'synchronization' and l.slice_id = s.slice_id
    where s.trace_id = $trace_id and s.ts <= $until and s.ts + s.dur >= $since
    group by all
    union all
    select 'event', coalesce(device, -1), coalesce(stream, -1), 0
    from cuda_event
    where trace_id = $trace_id and ts between $since and $until
    group by all
    union all
    -- counters have a process, and no track of their own
    select 'counter', device, null, 0
    from counter
    where trace_id = $trace_id and ts between $since and $until
    group by all
    union all
    select 'counter', device, null, 0
    from memory_timeline
    where trace_id = $trace_id and ts between $since and $until
    group by all
    union all
    select 'ledger', device, null, 0
    from device_activity
    where trace_id = $trace_id and step is not null and ts <= $until and ts + dur >= $since
    group by all
    union all
    select 'path', null, null, 0
    from critical_path
    where trace_id = $trace_id and ts <= $until and ts_end >= $since
    group by all
    union all
    select 'step', null, null, 0
    from step
    where trace_id = $trace_id and ts <= $until and ts_end >= $since
    group by all
)

select distinct u.place, u.a, u.b, u.lane, t.pid, t.tid, t.process_name, t.thread_name, d.name as device_name
from used as u
left join thread as t on u.place = 'host' and t.trace_id = $trace_id and t.thread_id = u.a
left join device as d on u.place not in ('host', 'step', 'path') and d.trace_id = $trace_id and d.device = u.a
order by
    case u.place when 'step' then 0 when 'path' then 1 when 'ledger' then 2 when 'host' then 3 else 4 end,
    if(u.place = 'host', 0, u.a) nulls first,
    if(u.place = 'host', u.a, coalesce(u.b, -5)),
    u.b,
    case u.place when 'counter' then 0 when 'annotation' then 1 when 'stream' then 2 when 'synchronization' then 3 else 4 end,
    u.lane
