-- reads: step_stats
select steps, excluded, total, mean, stddev, min, p50, p90, p95, p99, max
from step_stats
where trace_id = $trace_id
