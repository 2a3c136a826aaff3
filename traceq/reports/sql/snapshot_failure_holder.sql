-- The lines of the program that hold most when memory runs out; category where all of it has the same.
select
    device,
    owner,
    if(count(*) filter (category is null) = 0 and count(distinct category) = 1, any_value(category), null) as category,
    null as phase,
    sum(allocations)::bigint as allocations,
    sum(bytes)::bigint as bytes,
    max(largest) as largest_bytes
from memory_failure_holder
where trace_id = $trace_id
group by device, owner
qualify row_number() over (partition by device order by sum(bytes) desc, owner) <= $top
order by device, bytes desc, owner
