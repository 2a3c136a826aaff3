-- The losses of the program's first steps, with what they depend on, as traceq record wrote them: JSON, or NULL.
select cast(json_extract(args, '/traceq/losses') as varchar) as losses
from trace
where trace_id = $trace_id
