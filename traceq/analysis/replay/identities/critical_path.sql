-- The segments of the critical path follow one another through each step that was replayed, and add up to it.
with
segment as (
    select step, dur, ts - lag(ts_end) over (partition by step order by segment) as hole
    from critical_path
    where trace_id = $trace_id
),

total as (
    select step, sum(dur) as dur, count(*) filter (dur <= 0 or hole <> 0) as faults
    from segment
    group by step
)

select
    step,
    t.dur is distinct from r.dur or t.faults > 0 as is_broken,
    'step ' || step as place
from (select step, dur from replay_step where trace_id = $trace_id) as r
full join total as t using (step)
