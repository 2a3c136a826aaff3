-- Every kernel has one row, and what they have of the time adds up to the time in which any runs: the union of the kernels,
-- counted apart. Shares are floating-point numbers: the sum of a million is off by less than this.
with
slice as (
    select
        slice_id, device, ts, ts_end,
        max(ts_end) over (
            partition by device
            order by ts, ts_end
            rows between unbounded preceding and 1 preceding
        ) as busy_until
    from gpu_slice
    where trace_id = $trace_id and kind = 'kernel'
),

covered as (
    select
        device,
        count(*) as kernels,
        sum(greatest(ts_end - greatest(ts, coalesce(busy_until, ts)), 0)) as dur
    from slice
    group by device
),

shared as (
    select device, count(*) as kernels, count(distinct slice_id) as ids, sum(exclusive_dur) as dur, min(exclusive_dur) as least_dur
    from kernel_occupancy
    where trace_id = $trace_id
    group by device
)

select
    device,
    s.kernels is distinct from c.kernels
    or s.ids is distinct from c.kernels
    or coalesce(s.least_dur < 0 or abs(s.dur - c.dur) > 1 + c.dur / 1e9, true) as is_broken,
    'device ' || device as place
from covered as c
full join shared as s using (device)
