-- Without idle time the steps still last as long as the stream that works longest, up to what the replay is off. That is the idle
-- time of its device, and what its other streams can then do beside it.
with
span as (
    select min(ts) as ts, max(ts_end) as ts_end
    from critical_path
    where trace_id = $trace_id
),

slice as (
    select
        g.device,
        g.stream,
        greatest(g.ts, s.ts) as ts,
        least(g.ts_end, s.ts_end) as ts_end,
        max(least(g.ts_end, s.ts_end)) over (
            partition by g.device, g.stream
            order by g.ts, g.ts_end
            rows between unbounded preceding and 1 preceding
        ) as busy_until
    from gpu_slice as g
    inner join span as s on g.ts < s.ts_end and g.ts_end > s.ts
    where g.trace_id = $trace_id
),

busy as (
    select sum(greatest(ts_end - greatest(ts, coalesce(busy_until, ts)), 0)) as dur
    from slice
    group by device, stream
),

longest as (select coalesce(max(dur), 0) as dur from busy)

select
    scenario,
    coalesce(r.saved > (s.ts_end - s.ts) * (1 + r.error) - b.dur, false) as is_broken,
    'scenario ' || scenario as place
from replay as r
cross join span as s
cross join longest as b
where r.trace_id = $trace_id and (r.scenario like 'idle%' or r.scenario in ('data_in_workers', 'launch_graph'))
