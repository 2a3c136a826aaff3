-- reads: step
select key, steps, total, per_second
from throughput
where trace_id = $trace_id and isfinite(total) and isfinite(per_second)
order by key
limit $top
