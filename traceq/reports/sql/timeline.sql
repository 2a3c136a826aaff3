-- What is drawn of [$ts, $ts_end) on a device and on the host threads that do most in it: slices as they are where they are at
-- least $pixel ns long, shorter neighbours of a kind as one. The $threads threads that launch most, at most $levels levels
-- deep, and the $streams busiest streams. The slice $culprit is never merged. Causes of a gap are laid one after the other.
with
host as (
    select slice_id, thread_id, kind, name, ts, ts_end, coalesce(depth, 0) as level
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
),

-- Python frames only where nothing else says what the host does: they are deep.
host_level as (
    select h.*, t.place, dense_rank() over (partition by h.thread_id order by h.level) - 1 as depth
    from host as h
    inner join thread_rank as t using (thread_id)
    where
        t.place <= $threads
        and (h.kind <> 'python' or not exists (select 1 from host where kind <> 'python') or h.slice_id = $culprit)
),

gpu as (
    select
        slice_id,
        coalesce(stream, -1) as stream,
        name,
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
    where trace_id = $trace_id and device = $device and ts < $ts_end and ts_end > $ts
),

stream_rank as (
    select stream, row_number() over (order by sum(ts_end - ts) desc, stream) as place
    from gpu
    group by stream
),

gap as (
    select
        c.cause,
        c.cpu_slice_id,
        c.dur,
        g.ts + coalesce(sum(c.dur) over (
            partition by c.gap_id order by c.ts, c.cause rows between unbounded preceding and 1 preceding
        ), 0) as ts
    from idle_gap as g
    inner join idle_gap_cause as c using (trace_id, gap_id)
    where g.trace_id = $trace_id and g.device = $device and g.ts < $ts_end and g.ts + g.dur > $ts
),

slice as (
    select 'host' as side, place, thread_id as lane, slice_id, least(depth, $levels) as depth, kind, name, ts, ts_end
    from host_level
    where depth < $levels or slice_id = $culprit
    union all
    select 'gpu', r.place, g.stream, g.slice_id, 0, g.kind, g.name, g.ts, g.ts_end
    from gpu as g
    inner join stream_rank as r using (stream)
    where r.place <= $streams
    union all
    select 'ledger', 0, $device, null, 0, category, category, ts, ts + dur
    from device_activity
    where trace_id = $trace_id and device = $device and ts < $ts_end and ts + dur > $ts and category <> 'idle'
    union all
    select 'ledger', 0, $device, null, 0, cause, cause, ts, ts + dur
    from gap
),

clipped as (
    select
        * replace (greatest(ts, $ts) as ts, least(ts_end, $ts_end) as ts_end),
        slice_id is not distinct from $culprit and slice_id is not null as is_culprit,
        ts_end - ts >= $pixel or is_culprit as is_alone,
        if(is_alone, slice_id, null) as alone,
        if(is_alone, ts, greatest(ts, $ts) // $pixel) as place_in_time
    from slice
    where ts < $ts_end and ts_end > $ts or (ts = ts_end and ts >= $ts and ts < $ts_end)
)

select
    side,
    lane::integer as lane,
    any_value(t.thread_name) as thread_name,
    min(place)::integer as place,
    depth::integer as depth,
    -- Of several short ones, the longest gives kind and name.
    arg_max(kind, (ts_end - ts, kind, name)) as kind,
    arg_max(left(name, 300), (ts_end - ts, kind, name)) as name,
    (min(ts) - $ts)::bigint as ts,
    (max(ts_end) - min(ts))::bigint as dur,
    count(*) as slices,
    bool_or(is_culprit) as is_culprit
from clipped
left join thread as t on side = 'host' and t.trace_id = $trace_id and t.thread_id = lane
group by side, lane, depth, is_alone, alone, place_in_time
order by side, place, lane, depth, ts, dur desc, kind, name
