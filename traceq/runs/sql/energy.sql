-- Energy by category of a run's ledger, from samples of power: each counts for the time since the one before it. coverage is
-- the share of the ledger's time of all sampled GPUs that samples cover; in the gaps between them power is not known.
with
power as (
    select device, ts, ts_end, value
    from monitor_sample
    where trace_id = $trace_id and name = 'gpu_power' and device is not null and ts_end > ts
),

covered as (
    select p.category, w.device, least(w.ts_end, p.at_ns + p.dur) - greatest(w.ts, p.at_ns) as dur, w.value
    from run_phase as p
    inner join power as w on w.ts < p.at_ns + p.dur and w.ts_end > p.at_ns
    where p.trace_id = $trace_id
),

devices as (
    select count(distinct device) as devices from power
)

select
    p.category,
    any_value(d.devices) as devices,
    any_value(c.joules) as joules,
    coalesce(any_value(c.dur), 0)::double / nullif(sum(p.dur) * any_value(d.devices), 0) as coverage,
    coalesce(any_value(c.dur), 0)::double as covered_ns,
    (sum(p.dur) * any_value(d.devices))::double as whole_ns
from run_phase as p
cross join devices as d
left join (
    select category, sum(value * dur) / 1e9 as joules, sum(dur) as dur from covered group by category
) as c using (category)
where p.trace_id = $trace_id and d.devices > 0
group by p.category;
