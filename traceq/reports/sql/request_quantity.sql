-- Percentiles over the requests of each log.
select
    log_id,
    quantity,
    requests,
    mean as mean_ns,
    p50 as p50_ns,
    p90 as p90_ns,
    p95 as p95_ns,
    p99 as p99_ns,
    longest as longest_ns
from request_stats
where trace_id = $trace_id
order by log_id, place
