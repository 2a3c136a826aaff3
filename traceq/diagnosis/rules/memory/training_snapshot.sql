-- A row where stacks of a memory snapshot are of a backward pass or an optimizer.
select phase
from allocation_stack
where trace_id = $trace_id and phase in ('backward', 'optimizer')
limit 1
