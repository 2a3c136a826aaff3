-- The lanes that may be drawn of [$ts, $ts_end), from above: the steps, per GPU the ledger and the $streams busiest streams, of $devices
-- GPUs, $device first, and the $threads host threads that launch most. `number` is the stream or the thread.
create or replace temp table timeline_track as
with
device_rank as (
    select device, row_number() over (order by device <> $device, device) as place
    from gpu_slice
    where trace_id = $trace_id and device is not null
    group by device
    qualify place <= $devices
),

stream_rank as (
    select
        device,
        coalesce(stream, -1) as stream,
        row_number() over (partition by device order by sum(ts_end - ts) desc, coalesce(stream, -1)) as place
    from gpu_slice
    where trace_id = $trace_id and ts < $ts_end and ts_end > $ts
    group by device, coalesce(stream, -1)
    qualify place <= $streams
),

thread_rank as (
    select
        thread_id,
        row_number() over (order by count(*) filter (kind = 'runtime') desc, max(least(ts_end, $ts_end) - greatest(ts, $ts)) desc, thread_id)
            as place
    from cpu_slice
    where trace_id = $trace_id and ts < $ts_end and ts_end > $ts and kind not in ('os', 'overhead', 'other')
    group by thread_id
    qualify place <= $threads
),

track as (
    select 0 as part, 0 as gpu, 0 as place, 'step' as side, null::integer as device, 0::bigint as number
    union all
    select 1, place, 0, 'ledger', device, 0
    from device_rank
    union all
    select 1, d.place, s.place, 'gpu', device, s.stream
    from stream_rank as s
    inner join device_rank as d using (device)
    union all
    select 2, 0, place, 'host', null, thread_id
    from thread_rank
)

select row_number() over (order by part, gpu, place) - 1 as track, side, device, number
from track;

-- Whether how deep a slice is drawn differs from its depth in the trace: it is inside of one that is not drawn, or that ended before $ts.
-- Python frames are drawn only where nothing else says what the host does: they are deep.
with
near as (
    select slice_id, parent_id, kind, ts
    from cpu_slice
    where
        trace_id = $trace_id and ts < $ts_end and ts_end > $ts and thread_id in (select number from timeline_track where side = 'host')
),

hidden as (
    select slice_id
    from near
    where kind in ('os', 'overhead', 'other', 'python')
)

select bool_or(hides) as hides
from (
    select count(*) > 0 as hides
    from near as c
    inner join hidden as h on h.slice_id = c.parent_id
    union all
    select count(*) > 0
    from near as c
    inner join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = c.parent_id
    where c.ts < $ts and p.ts_end <= $ts
)
