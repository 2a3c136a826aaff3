-- The stacks of these ranks, innermost frame first.
select rank, stack_id, name, file, line
from recorded_stack
where list_contains($ranks, rank)
order by rank, stack_id, depth
