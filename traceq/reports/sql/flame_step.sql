-- The counted steps, in the order of time.
select step, ts, ts_end
from step
where trace_id = $trace_id and excluded is null
order by ts
