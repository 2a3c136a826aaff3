-- Most memory allocated in any counted step; growth is what steps leave more than they found.
select
    device,
    memory,
    bool_and(is_total) as is_total,
    max(peak) as peak_bytes,
    max_by(step, (peak, -step)) as peak_step,
    max(reserved) as reserved_bytes,
    max(peak_unused) as peak_unused_bytes,
    max(capacity) as capacity_bytes,
    count(growth) as steps,
    avg(growth) as growth_per_step_bytes,
    count(*) filter (growth > 0) as growing_steps
from memory_step as m
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device, memory
order by memory <> 'device', device nulls last, memory
