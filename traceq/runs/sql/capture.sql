-- What tells captures apart, and how much of a step a few stalls make: a row. A GPU that the trace does not name has the name that all
-- named ones share: HIP numbers those that it describes otherwise than those that it uses.
with
counted as (
    select step, name, thread_id, ts, ts_end
    from step
    where trace_id = $trace_id and excluded is null
),

-- Only the last step ends with its GPU work instead of with the next mark.
last_mark as (
    select s.step, c.ts_end
    from counted as s
    inner join cpu_slice as c
        on c.trace_id = $trace_id and c.kind = 'annotation' and c.thread_id = s.thread_id and c.ts = s.ts and c.name = s.name
    where s.step = (select max(step) from step where trace_id = $trace_id)
    limit 1
),

waited as (
    select sum(dur) as longest
    from (
        select g.step, g.dur, row_number() over (partition by g.step order by g.dur desc) as place
        from idle_gap as g
        inner join counted using (step)
        where g.trace_id = $trace_id and g.device = $device
    )
    where place <= 5
    group by step
),

-- Work in the counted steps: all, and what they launched themselves (busy_piece has nothing else).
busy as (
    select sum(l.dur) as dur
    from time_ledger as l
    inner join counted using (step)
    where l.trace_id = $trace_id and l.device = $device and not starts_with(l.category, 'idle_')
),

extent as (
    select min(ts) as ts, max(ts_end) as ts_end
    from counted
),

own as (
    select sum(p.ledger_dur * ((least(p.ts + p.dur, e.ts_end) - greatest(p.ts, e.ts)) / p.dur)) as dur
    from busy_piece as p
    cross join extent as e
    where p.trace_id = $trace_id and p.device = $device and p.dur > 0 and p.ts < e.ts_end and p.ts + p.dur > e.ts
)

select
    (
        select max_by(value, count)
        from program
        where trace_id = $trace_id and property = 'vendor'
    ) as vendor,
    (
        select if(count(distinct name) = 1, any_value(name), null)
        from device
        where trace_id = $trace_id
    ) as only_device_name,
    (select reason from triage where trace_id = $trace_id) as kind,
    (select once_ns from triage where trace_id = $trace_id) as once_ns,
    (select coalesce(avg(longest), 0)::bigint from waited) as longest_waits_ns,
    (
        select greatest(coalesce(b.dur - coalesce(o.dur, 0), 0), 0)::bigint
        from busy as b
        cross join own as o
    ) as foreign_ns,
    (
        select coalesce(sum(a.ts + a.dur - greatest(a.ts, m.ts_end)), 0)::bigint
        from device_activity as a
        inner join last_mark as m using (step)
        where a.trace_id = $trace_id and a.device = $device and a.category = 'idle' and a.ts + a.dur > m.ts_end
    ) as idle_tail_ns
