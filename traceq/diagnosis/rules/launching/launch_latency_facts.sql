-- How many gaps there are, how long as a rule, and which share of their time is in CUDA graphs.
-- uses: idle
select
    count(*) as gaps,
    median(p.dur) as median_ns,
    coalesce(sum(p.dur) filter (contains(c.name, 'GraphLaunch')), 0) / sum(p.dur) as graph_share
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
where p.cause = 'idle_launch_latency' and p.dur < $long_ns
