-- Copies of which the call that asked for them is known; nobody calls for migrations of unified memory.
select count(*) filter (is_blocking is not null or copy_kind is not distinct from 'um') as copies_with_call
from copy_overlap
where trace_id = $trace_id
