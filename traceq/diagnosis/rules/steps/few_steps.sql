-- The steps, and which of them count.
-- remarks: yes
select step, name, source, ts, dur, excluded
from step
where trace_id = $trace_id
order by step
limit 10
