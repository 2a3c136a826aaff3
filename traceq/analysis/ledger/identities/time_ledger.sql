-- The ledger of each device adds up to each step, without empty entries.
with
pair as (
    select d.device, s.step, s.dur
    from (select distinct device from gpu_slice where trace_id = $trace_id) as d
    cross join (select step, dur from step where trace_id = $trace_id) as s
),

total as (
    select device, step, sum(dur) as dur, min(dur) as shortest
    from time_ledger
    where trace_id = $trace_id
    group by device, step
)

select
    step,
    device,
    t.dur is distinct from p.dur or t.shortest <= 0 as is_broken,
    'device ' || device || ', step ' || step as place
from pair as p
full join total as t using (device, step)
