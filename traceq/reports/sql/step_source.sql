-- Steps of one trace all have the same source; the first counted one lends its name as an example.
select source, name
from step
where trace_id = $trace_id
order by excluded is not null, step
limit 1
