-- A device is busy exactly while any of its slices runs: the union of the slices, counted apart from the segments.
with
slice as (
    select
        device, ts, ts_end,
        max(ts_end) over (
            partition by device
            order by ts, ts_end
            rows between unbounded preceding and 1 preceding
        ) as busy_until
    from gpu_slice
    where trace_id = $trace_id
),

covered as (
    select device, sum(greatest(ts_end - greatest(ts, coalesce(busy_until, ts)), 0)) as dur
    from slice
    group by device
),

busy as (
    select device, coalesce(sum(dur) filter (category <> 'idle'), 0) as dur
    from device_activity
    where trace_id = $trace_id
    group by device
)

select
    device,
    coalesce(c.dur, 0) <> coalesce(b.dur, 0) as is_broken,
    'device ' || device as place
from covered as c
full join busy as b using (device)
