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
),

judged as (
    select device, step, t.dur is distinct from p.dur or t.shortest <= 0 as is_broken
    from pair as p
    full join total as t using (device, step)
)

select
    count(*) as checked,
    count(*) filter (is_broken) as broken,
    'device ' || arg_min(device, (step, device)) filter (is_broken) || ', step ' || min(step) filter (is_broken) as example
from judged
