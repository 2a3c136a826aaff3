-- The idle time of the GPU by the length of its gaps: many small ones or few large ones, and what they mostly are.
-- uses: counted
-- remarks: yes
with
gap as (
    select
        g.gap_id,
        g.ts,
        g.dur,
        case
            when g.dur < $micro_ns then 'short'
            when g.dur < $macro_ns then 'medium'
            else 'long'
        end as size
    from idle_gap as g
    inner join counted using (step)
    where g.trace_id = $trace_id and g.device = $device
),

cause as (
    select g.size, c.cause, sum(c.dur) as dur
    from gap as g
    inner join idle_gap_cause as c on c.trace_id = $trace_id and c.gap_id = g.gap_id
    group by g.size, c.cause
),

total as (
    select sum(dur) as dur
    from time_ledger
    inner join counted using (step)
    where trace_id = $trace_id and device = $device
)

select
    g.size,
    count(*) / (select count(*) from counted) as gaps_per_step,
    (sum(g.dur) / (select count(*) from counted))::bigint as idle_per_step_ns,
    sum(g.dur) / sum(sum(g.dur)) over () as idle_share,
    sum(sum(g.dur)) over () / any_value(t.dur) as step_share,
    max(g.dur) as longest_ns,
    min_by(g.ts, {'dur': -g.dur, 'ts': g.ts}) as longest_ts,
    any_value(c.cause) as main_cause,
    any_value(c.dur) / sum(g.dur) as main_cause_share
from gap as g
inner join (
    select size, min_by(cause, {'dur': -dur, 'cause': cause}) as cause, max(dur) as dur
    from cause
    group by size
) as c using (size)
cross join total as t
group by g.size
order by idle_per_step_ns desc, g.size
