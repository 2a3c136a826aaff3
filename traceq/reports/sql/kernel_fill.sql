-- Compute kernels of the counted steps per device: means while they run, over those for which a value is known.
-- Sums of fractions depend on their order: shares are rounded to what does not.
select
    device,
    count(*) as kernels,
    sum(exclusive_dur)::bigint as dur_ns,
    round(sum(exclusive_dur * estimated_occupancy) / sum(exclusive_dur) filter (estimated_occupancy is not null), 9) as occupancy_share,
    round(sum(exclusive_dur * tensor_core::integer) / sum(exclusive_dur) filter (tensor_core is not null), 9) as tensor_core_share,
    round(coalesce(sum(exclusive_dur) filter (tensor_core is not null), 0) / nullif(sum(exclusive_dur), 0), 9) as tensor_core_known_share
from kernel_occupancy
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null and family <> 'communication'
group by device
order by device
