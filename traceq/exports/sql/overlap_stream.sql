-- Slices of streams on which anything starts before what came before it has ended.
with
slice as (
    select
        device,
        stream,
        slice_id,
        ts,
        ts_end,
        max(ts_end) over (
            partition by device, stream
            order by ts, dur desc, slice_id
            rows between unbounded preceding and 1 preceding
        ) as ends_before
    from gpu_slice
    where trace_id = $trace_id and slice_id not in (select slice_id from _lane where place = 'stream')
),

overlapping as (
    select distinct device, coalesce(stream, -1) as stream
    from slice
    where ends_before > ts
)

select s.device::varchar || ' ' || coalesce(s.stream, -1) as track, s.slice_id, s.ts, s.ts_end
from slice as s
inner join overlapping as o on o.device = s.device and o.stream = coalesce(s.stream, -1)
where s.slice_id not in (select slice_id from _lane where place = 'stream')
order by track, s.ts, s.ts_end desc, s.slice_id
