-- The segments of a memory snapshot.
select device, address, bytes
from allocator_segment
where trace_id = $trace_id
order by device, address
