-- How many CPU cores the host has, one row; NULL where nothing beside the trace says so.
select max(value) as cores
from counter
where trace_id = $trace_id and name = 'cpu_count'
