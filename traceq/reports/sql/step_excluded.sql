select step, name, dur, excluded
from step
where trace_id = $trace_id and excluded is not null
order by step
