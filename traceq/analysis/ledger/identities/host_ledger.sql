-- The ledger of the training thread adds up to each step, without empty entries, wherever there is a host side.
with
total as (
    select step, sum(dur) as dur, min(dur) as shortest
    from host_ledger
    where trace_id = $trace_id
    group by step
)

select
    step,
    t.dur is distinct from s.dur or t.shortest <= 0 as is_broken,
    'step ' || step as place
from (select step, dur from step where trace_id = $trace_id) as s
full join total as t using (step)
where exists (select 1 from cpu_slice where trace_id = $trace_id and depth is not null)
