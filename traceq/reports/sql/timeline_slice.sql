-- What may be drawn of [$ts, $ts_end): the steps, per GPU the ledger and the $streams busiest streams, of $devices GPUs, $device
-- first, and the $threads host threads that launch most, at most $levels levels deep. Cut at the ends; the slice $culprit is
-- always there. Causes of a gap are laid one after the other. Slices in the steps $detailed are fine.
create or replace temp table timeline_slice as
with recursive
host as materialized (
    select slice_id, parent_id, thread_id, kind, name, ts, ts_end, operator_id, annotation_id
    from cpu_slice
    where trace_id = $trace_id and ts < $ts_end and ts_end > $ts and kind not in ('os', 'overhead', 'other')
),

thread_rank as (
    select
        thread_id,
        row_number() over (order by count(*) filter (kind = 'runtime') desc, max(least(ts_end, $ts_end) - greatest(ts, $ts)) desc, thread_id)
            as place
    from host
    group by thread_id
    qualify place <= $threads
),

-- Python frames only where nothing else says what the host does: they are deep.
near as materialized (
    select
        h.*, t.place,
        h.kind <> 'python' or h.slice_id = $culprit or not exists (select 1 from host where kind <> 'python') as is_kept
    from host as h
    inner join thread_rank as t using (thread_id)
),

-- From slices whose parents are not here, as they ended before, up to the first around them that is.
climb as (
    select slice_id, parent_id as above_id
    from near
    where parent_id is not null and parent_id not in (select slice_id from near)
    union all
    select c.slice_id, p.parent_id
    from climb as c
    inner join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = c.above_id
    where c.above_id not in (select slice_id from near)
),

placed as materialized (
    select n.*, if(n.parent_id in (select slice_id from near), n.parent_id, c.above_id) as around_id
    from near as n
    left join (select slice_id, above_id from climb where above_id in (select slice_id from near)) as c using (slice_id)
),

-- How deep slices lie among those that are kept.
host_level as (
    select *, 0 as depth
    from placed
    where around_id is null
    union all
    select p.*, l.depth + l.is_kept::integer
    from host_level as l
    inner join placed as p on p.around_id = l.slice_id
),

host_drawn as (
    select *
    from host_level
    where is_kept and (depth < $levels or slice_id = $culprit)
),

device_rank as (
    select device, row_number() over (order by device <> $device, device) as place
    from gpu_slice
    where trace_id = $trace_id and device is not null
    group by device
    qualify place <= $devices
),

gpu as (
    select
        slice_id,
        device,
        coalesce(stream, -1) as stream,
        name,
        launch_id,
        ts,
        ts_end,
        case
            when is_communication then 'communication'
            when kind = 'kernel' then 'compute'
            when kind <> 'memcpy' then kind
            when copy_kind in ('h2d', 'd2h') then 'copy_' || copy_kind
            else 'copy_other'
        end as kind
    from gpu_slice
    where trace_id = $trace_id and ts < $ts_end and ts_end > $ts
),

stream_rank as (
    select device, stream, row_number() over (partition by device order by sum(ts_end - ts) desc, stream) as place
    from gpu
    group by device, stream
    qualify place <= $streams
),

-- Segments of the ledger that follow one another with the same category are one.
segment as (
    select
        device, category, ts, ts + dur as ts_end,
        category is distinct from lag(category) over (partition by device order by ts) as is_first
    from device_activity
    where trace_id = $trace_id and ts < $ts_end and ts + dur > $ts
),

run as (
    select *, sum(is_first::integer) over (partition by device order by ts rows unbounded preceding) as number
    from segment
),

gap as (
    select
        g.device,
        c.cause,
        c.dur,
        g.ts + coalesce(sum(c.dur) over (
            partition by c.gap_id order by c.ts, c.cause rows between unbounded preceding and 1 preceding
        ), 0) as ts
    from idle_gap as g
    inner join idle_gap_cause as c using (trace_id, gap_id)
    where g.trace_id = $trace_id and g.ts < $ts_end and g.ts + g.dur > $ts
),

slice as (
    select
        'step' as side, null::integer as device, 0 as place, 0::bigint as number,
        null::bigint as slice_id, null::bigint as launch_id, 0 as depth, 'step' as kind, step::varchar as name, ts, ts_end
    from step
    where trace_id = $trace_id and source <> 'window'
    union all
    select 'ledger', device, 0, 0, null, null, 0, category, category, min(ts), max(ts_end)
    from run
    where category <> 'idle'
    group by device, category, number
    union all
    select 'ledger', device, 0, 0, null, null, 0, cause, cause, ts, ts + dur
    from gap
    union all
    select
        'gpu', g.device, r.place, g.stream,
        g.slice_id, coalesce(call.slice_id, operator.slice_id, annotation.slice_id), 0, g.kind, g.name, g.ts, g.ts_end
    from gpu as g
    inner join stream_rank as r using (device, stream)
    -- Where the call lies too deep to be drawn, what is around it.
    left join host as launch on launch.slice_id = g.launch_id
    left join host_drawn as call on call.slice_id = g.launch_id
    left join host_drawn as operator on operator.slice_id = launch.operator_id
    left join host_drawn as annotation on annotation.slice_id = launch.annotation_id
    union all
    select 'host', null, place, thread_id, slice_id, null, least(depth, $levels), kind, name, ts, ts_end
    from host_drawn
)

select
    dense_rank() over (
        order by array_position(['step', 'ledger', 'gpu', 'host'], if(s.side = 'gpu', 'ledger', s.side)), d.place, s.side = 'gpu', s.place, s.number
    ) - 1 as lane,
    s.side,
    s.device,
    s.number,
    s.depth,
    s.slice_id,
    s.launch_id,
    s.kind,
    left(s.name, 200) as name,
    greatest(s.ts, $ts) as ts,
    least(s.ts_end, $ts_end) as ts_end,
    coalesce(s.slice_id = $culprit, false) as is_culprit,
    exists (
        select 1 from step as p
        where p.trace_id = $trace_id and p.step in (select unnest($detailed)) and s.ts < p.ts_end and s.ts_end > p.ts
    ) as is_fine
from slice as s
left join device_rank as d using (device)
where
    (s.device is null or d.device is not null)
    and (s.ts < $ts_end and s.ts_end > $ts or (s.ts = s.ts_end and s.ts >= $ts and s.ts < $ts_end))
