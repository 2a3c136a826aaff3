-- What PyTorch's allocator holds beyond what tensors occupy, in the step in which they occupy most; and its calls for memory.
-- uses: counted
-- remarks: yes
with
call as (
    select
        coalesce(sum(calls) filter (operation = 'allocate'), 0) as allocations,
        coalesce(sum(calls) filter (operation = 'free'), 0) as releases
    from allocator_call
    inner join counted using (step)
    where trace_id = $trace_id
)

select
    m.step,
    m.peak as peak_bytes,
    m.peak_reserved as reserved_bytes,
    m.peak_unused as unused_bytes,
    m.peak_unused / m.peak_reserved as unused_share,
    m.capacity as capacity_bytes,
    m.peak_reserved / m.capacity as reserved_share,
    c.allocations,
    c.releases
from memory_step as m
inner join counted using (step)
cross join call as c
where m.trace_id = $trace_id and m.device = $device and m.memory = 'device' and m.peak_reserved > 0
order by m.peak desc, m.step
limit 1
