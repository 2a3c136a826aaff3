-- Where counted steps begin, since the first of them, at most about 30 of them; and how long all are together.
select step, ts - min(ts) over () as after_ns, max(ts_end) over () - min(ts) over () as span_ns
from step
where trace_id = $trace_id and excluded is null and exists (from memory_timeline where trace_id = $trace_id)
qualify (row_number() over (order by ts) - 1) % ((count(*) over () + 29) // 30) = 0
order by ts
