-- The step in which most of the GPU's memory is in use.
-- remarks: yes
-- uses: counted
select
    m.step,
    m.peak as peak_bytes,
    m.reserved as reserved_bytes,
    m.capacity as capacity_bytes,
    m.peak / m.capacity as peak_share,
    greatest(m.peak, coalesce(m.reserved, 0)) / m.capacity as used_share,
    m.allocated_start as at_start_bytes
from memory_step as m
inner join counted using (step)
where
    m.trace_id = $trace_id
    and m.device = $device
    and m.memory = 'device'
order by peak_share desc nulls last, used_share desc, m.step
limit 1
