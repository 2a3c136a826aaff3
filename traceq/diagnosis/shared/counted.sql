-- The counted steps.
select step
from step
where trace_id = $trace_id and excluded is null
