-- What a step of the trace is: a whole step, a layer, the window, ..., and the name of its marks.
select level, name
from unit
where trace_id = $trace_id and is_step
