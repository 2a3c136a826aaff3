-- reads: step
-- makes: step_stats
insert into step_stats
select
    $trace_id as trace_id,
    count(*) filter (excluded is null) as steps,
    count(*) filter (excluded is not null) as excluded,
    (sum(dur) filter (excluded is null))::bigint as total,
    avg(dur) filter (excluded is null) as mean,
    stddev_samp(dur) filter (excluded is null) as stddev,
    min(dur) filter (excluded is null) as min,
    quantile_cont(dur, 0.5) filter (excluded is null) as p50,
    quantile_cont(dur, 0.9) filter (excluded is null) as p90,
    quantile_cont(dur, 0.95) filter (excluded is null) as p95,
    quantile_cont(dur, 0.99) filter (excluded is null) as p99,
    max(dur) filter (excluded is null) as max
from step;
