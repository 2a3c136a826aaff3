-- The compute kernels with most time in the counted steps, by name: those that no report of a kernel profiler is about, if there are reports.
with
hot as (
    select g.name, sum(k.exclusive_dur)::bigint as dur_ns
    from kernel_occupancy as k
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join step as s on s.trace_id = k.trace_id and s.step = k.step
    where k.trace_id = $trace_id and s.excluded is null and k.family <> 'communication'
    group by g.name
    order by dur_ns desc, g.name
    limit $top
)

select name, dur_ns
from hot
where
    exists (from reported_kernel where trace_id = $trace_id)
    and name not in (select name from reported_kernel where trace_id = $trace_id)
order by dur_ns desc, name
