-- A device is never busier than the time it has.
with
busy as (
    select device, step, coalesce(sum(dur) filter (not starts_with(category, 'idle_')), 0) as dur
    from time_ledger
    where trace_id = $trace_id
    group by device, step
),

judged as (
    select b.device, b.step, coalesce(b.dur > s.dur, true) as is_broken
    from busy as b
    left join step as s on s.trace_id = $trace_id and s.step = b.step
)

select
    count(*) as checked,
    count(*) filter (is_broken) as broken,
    'device ' || arg_min(device, (step, device)) filter (is_broken) || ', step ' || min(step) filter (is_broken) as example
from judged
