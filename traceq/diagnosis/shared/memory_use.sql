-- How much memory of the critical device the counted steps use.
-- uses: counted
select
    max(peak) as peak,
    max(greatest(peak, coalesce(reserved, 0))) as used,
    min(coalesce(allocated_start, allocated_end)) as stays,
    any_value(capacity) as capacity,
    bool_and(is_total) as is_total
from memory_step
inner join counted using (step)
where trace_id = $trace_id and device = $device and memory = 'device'
