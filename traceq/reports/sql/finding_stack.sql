-- The stack of the host around each of $slices, or where this work of a GPU was launched (of a CUDA graph: captured), from the innermost frame
-- on, and the innermost line of the program. No row for a stack of one frame: that is the slice or its launch alone.
with
slice as (
    select distinct $trace_id as trace_id, unnest($slices)::bigint as slice_id
)

select slice_id, list_reverse(frames) as frames, line, is_captured
from stack_of('slice')
where len(frames) > 1
