-- Compute kernels of the counted steps by name, most time first; where kernels run at once each has its part of it. Mean to
-- standard deviation are of the durations of single kernels, whatever else ran meanwhile; that of one kernel has none.
select
    g.name,
    count(*) as kernels,
    sum(k.exclusive_dur)::bigint as dur_ns,
    round(sum(k.exclusive_dur) / nullif(sum(sum(k.exclusive_dur)) over (), 0), 9) as kernel_share,
    round(
        sum(k.exclusive_dur * k.estimated_occupancy) / sum(k.exclusive_dur) filter (k.estimated_occupancy is not null), 9
    ) as occupancy_share,
    if(count(distinct k.limiter) = 1, min(k.limiter), 'various') as limiter,
    bool_or(k.tensor_core) as tensor_core,
    avg(g.dur) as mean_ns,
    median(g.dur) as median_ns,
    min(g.dur) as min_ns,
    max(g.dur) as max_ns,
    round(stddev_samp(g.dur), 3) as stddev_ns
from kernel_occupancy as k
inner join gpu_slice as g using (trace_id, slice_id)
inner join step as s on s.trace_id = k.trace_id and s.step = k.step
where k.trace_id = $trace_id and s.excluded is null and k.family <> 'communication'
group by g.name
order by dur_ns desc, g.name
limit $top
