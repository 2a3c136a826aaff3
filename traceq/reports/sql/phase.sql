-- Phases over the counted steps, steps without the phase included with 0; the first $top by time.
with
counted as (
    select step, dur from step where trace_id = $trace_id and excluded is null
),

phase as (
    select step, phase, count, dur from step_phase where trace_id = $trace_id
),

per_step as (
    select names.phase, c.step, c.dur as step_dur, coalesce(p.count, 0) as count, coalesce(p.dur, 0) as dur
    from (select distinct phase from phase where step in (select step from counted)) as names
    cross join counted as c
    left join phase as p on p.step = c.step and p.phase = names.phase
)

select
    phase,
    sum(count)::bigint as count,
    sum(dur)::bigint as dur,
    median(dur) as median,
    sum(dur) / nullif(sum(step_dur), 0) as step_share
from per_step
group by phase
order by dur desc, phase
limit $top
