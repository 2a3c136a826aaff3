-- Memory that every counted step leaves behind.
-- remarks: yes
-- uses: counted
with
sampled as (
    select m.memory, m.step, m.growth, m.allocated_end, m.capacity
    from memory_step as m
    inner join counted using (step)
    where
        m.trace_id = $trace_id
        and (m.device = $device or m.memory = 'host')
        and m.growth is not null
)

select
    memory,
    count(*) as steps,
    min(growth) as least_bytes,
    median(growth) as growth_bytes,
    sum(growth)::bigint as grown_bytes,
    max_by(allocated_end, step) as allocated_bytes,
    any_value(capacity) as capacity_bytes
from sampled
group by memory
having count(*) >= $enough_steps and min(growth) > 0 and median(growth) >= $least_bytes
order by growth_bytes desc, memory
