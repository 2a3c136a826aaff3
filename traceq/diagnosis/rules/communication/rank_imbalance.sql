-- What each rank, or each GPU of one capture, does of a step by itself: what is left without waiting for others.
-- remarks: yes
with
this as (
    select run, world_size
    from trace
    where trace_id = $trace_id
),

-- The traces of one job: of a rank that is there twice, this one, else the last.
job as (
    select max_by(t.trace_id, {'this': t.trace_id = $trace_id, 'trace_id': t.trace_id}) as trace_id, t.rank
    from trace as t
    inner join this as s on t.run is not distinct from s.run and t.world_size is not distinct from s.world_size
    where t.rank is not null or t.trace_id = $trace_id
    group by t.rank
),

part as (
    select l.trace_id, l.device, j.rank, l.category, sum(l.dur) as dur
    from time_ledger as l
    inner join job as j using (trace_id)
    inner join step as s on s.trace_id = l.trace_id and s.step = l.step
    where s.excluded is null and s.source <> 'whole_trace'
    group by all
),

unit as (
    select
        p.trace_id,
        p.device,
        p.rank,
        a.steps,
        sum(p.dur) / a.steps as step_ns,
        coalesce(sum(p.dur) filter (p.category = 'compute'), 0) / a.steps as compute_ns,
        sum(p.dur) filter (p.category not in ('communication', 'idle_communication', 'idle_dependency', 'idle_launch_latency'))
        / a.steps as own_ns
    from part as p
    inner join step_stats as a using (trace_id)
    group by p.trace_id, p.device, p.rank, a.steps
    having compute_ns > 0
),

slowest as (
    select min_by({'trace_id': trace_id, 'device': device}, {'own': -own_ns, 'trace_id': trace_id, 'device': device}) as unit
    from unit
),

-- Of what the slowest has most, compared with the others on the average.
more as (
    select
        p.category,
        sum(p.dur / a.steps) filter (p.trace_id = s.unit.trace_id and p.device = s.unit.device) as here,
        coalesce(sum(p.dur / a.steps) filter (p.trace_id <> s.unit.trace_id or p.device <> s.unit.device), 0)
        / nullif((select count(*) - 1 from unit), 0) as elsewhere
    from part as p
    inner join step_stats as a using (trace_id)
    inner join unit as u on u.trace_id = p.trace_id and u.device = p.device
    cross join slowest as s
    where p.category not in ('communication', 'idle_communication', 'idle_dependency', 'idle_launch_latency')
    group by p.category
),

most as (
    select arg_max(category, here - elsewhere) as category, max(here - elsewhere) as dur
    from more
)

select
    u.trace_id,
    u.rank,
    u.device,
    u.steps,
    u.step_ns::bigint as step_ns,
    u.compute_ns::bigint as compute_ns,
    u.own_ns::bigint as own_ns,
    (u.trace_id = s.unit.trace_id and u.device = s.unit.device) as is_slowest,
    if(is_slowest, m.category, null) as more_of,
    if(is_slowest, m.dur::bigint, null) as more_ns
from unit as u
cross join slowest as s
cross join most as m
order by u.own_ns desc, u.trace_id, u.device
