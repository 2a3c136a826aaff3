select property, value, count
from program
where trace_id = $trace_id
order by array_position(['language', 'framework', 'mode', 'workload', 'vendor', 'feature'], property), count desc, value
