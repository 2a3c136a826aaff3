-- The segments of each device add up to each step.
with
pair as (
    select d.device, s.step, s.dur
    from (select distinct device from gpu_slice where trace_id = $trace_id) as d
    cross join (select step, dur from step where trace_id = $trace_id) as s
),

total as (
    select device, step, sum(dur) as dur
    from device_activity
    where trace_id = $trace_id and step is not null
    group by device, step
)

select
    step,
    device,
    t.dur is distinct from p.dur as is_broken,
    'device ' || device || ', step ' || step as place
from pair as p
left join total as t using (device, step)
