-- Arrows along the critical path from slice to slice, wherever it goes on on another thread or stream.
with
work as (
    select
        p.segment, p.slice_id, p.ts, p.ts_end, p.kind = 'host' as is_host,
        if(p.kind = 'host', 'host', 'stream') as place,
        if(p.kind = 'host', p.thread_id, p.device) as a,
        if(p.kind = 'host', 0, coalesce(p.stream, -1)) as b
    from critical_path as p
    where p.trace_id = $trace_id and p.kind <> 'wait'
),

-- segments of the same slice follow one another, and it may go on behind the slice that it went to
change as (
    from (
        select
            *,
            lead(struct_pack(segment, slice_id, ts, is_host, place, a, b)) over (order by segment) as next
        from work
    )
    where (place, a, b) is distinct from (next.place, next.a, next.b) and slice_id is not null and next.slice_id is not null
),

-- From a call that launched what the path goes on with it leads from the start of that call; else from the end of the segment.
arrow as (
    select
        c.segment,
        if(l.slice_id is null, c.slice_id, l.slice_id) as from_id,
        if(l.slice_id is null, c.ts_end - 1, l.ts) as from_ts,
        c.place, c.a, c.b, c.next
    from change as c
    left join gpu_slice as g
        on c.is_host and not c.next.is_host and g.trace_id = $trace_id and g.slice_id = c.next.slice_id
    left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = g.launch_id and l.thread_id = c.a and l.depth is not null
),

-- Each end on the track on which its slice is.
ends as (
    select segment, 0 as part, place, a, b, from_id as slice_id, from_ts as ts from arrow where from_ts <= next.ts
    union all
    select segment, 1, next.place, next.a, next.b, next.slice_id, next.ts from arrow where from_ts <= next.ts
)

select
    _event(
        concat(if(e.part = 0, '{"ph":"s"', '{"ph":"f","bp":"e"'), ',"id":', $flow + e.segment),
        '"traceq"',
        '"critical path"',
        t.pid,
        t.tid,
        e.ts - $origin,
        '',
        ''
    ) as event,
    8 as level,
    0 as dur
from ends as e
left join _lane as l on l.place = e.place and l.slice_id = e.slice_id
inner join _track as t on t.place = e.place and t.a = e.a and t.b = coalesce(l.role, e.b) and t.lane = coalesce(l.lane, 0)
-- a thread may have its slice on no track
qualify count(*) over (partition by e.segment) = 2
order by e.segment, e.part
