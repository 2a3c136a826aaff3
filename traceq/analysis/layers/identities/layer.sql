-- The layers of a device, and what lies outside of them, are all its compute kernels of the counted steps. Times are floating-point
-- numbers: the sum of a million is off by less than this.
with
sum_of_layers as (
    select device, sum(kernels) as kernels, sum(forward_dur + backward_dur) as dur
    from layer
    where trace_id = $trace_id
    group by device
),

sum_of_kernels as (
    select k.device, count(*) as kernels, sum(k.exclusive_dur) as dur
    from kernel_occupancy as k
    inner join step as s using (trace_id, step)
    where trace_id = $trace_id and s.excluded is null and k.family <> 'communication'
    group by k.device
)

select
    l.device,
    l.kernels is distinct from k.kernels or coalesce(abs(l.dur - k.dur) > 1 + k.dur / 1e9, true) as is_broken,
    'device ' || l.device as place
from sum_of_layers as l
left join sum_of_kernels as k using (device)
