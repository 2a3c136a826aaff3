-- What is in use at the peak, by category.
select device, category, sum(allocations)::bigint as allocations, sum(bytes)::bigint as bytes
from memory_holder
where trace_id = $trace_id
group by device, category
order by device, bytes desc, category
