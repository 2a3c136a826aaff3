-- What is known of the memory of a rank, one row: nulls for what is not.
-- uses: memory_use
select
    if(u.is_total, u.used, null) as used_bytes,
    coalesce(u.capacity, d.memory_bytes) as capacity_bytes
from (select 1)
left join memory_use as u on true
left join device as d on d.trace_id = $trace_id and d.device = $device
