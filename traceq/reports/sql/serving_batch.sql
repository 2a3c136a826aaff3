-- Counted steps of a server by kind and batch bucket.
select
    dialect,
    kind,
    least_requests,
    most_requests,
    steps,
    dur as dur_ns,
    p50 as p50_ns,
    p95 as p95_ns,
    p99 as p99_ns,
    token_p50 as token_p50_ns,
    token_p95 as token_p95_ns,
    token_p99 as token_p99_ns,
    new_tokens_per_second,
    output_tokens_per_second,
    gpu_busy_share,
    host_gap_p50 as host_gap_p50_ns,
    gpu_gap_p50 as gpu_gap_p50_ns
from serving_stats
where trace_id = $trace_id
order by dialect, kind nulls last, least_requests nulls last
