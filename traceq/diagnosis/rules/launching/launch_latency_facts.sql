-- Of what kind the time is: long waits of work that had been launched, gaps inside graphs, or many short ones.
-- uses: idle
select
    count(*) as gaps,
    median(p.dur) as median_ns,
    coalesce(sum(p.dur) filter (p.dur >= $long_ns), 0) / sum(p.dur) as long_share,
    count(*) filter (p.dur >= $long_ns) as long_gaps,
    coalesce(sum(p.dur) filter (contains(c.name, 'GraphLaunch')), 0) / sum(p.dur) as graph_share,
    count(distinct p.launch_slice_id) filter (contains(c.name, 'GraphLaunch')) as graphs
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
where p.cause = 'idle_launch_latency'
