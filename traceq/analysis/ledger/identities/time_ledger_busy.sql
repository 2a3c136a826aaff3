-- A device is never busier than the time it has.
with
busy as (
    select device, step, coalesce(sum(dur) filter (not starts_with(category, 'idle_')), 0) as dur
    from time_ledger
    where trace_id = $trace_id
    group by device, step
)

select
    b.step,
    b.device,
    coalesce(b.dur > s.dur, true) as is_broken,
    'device ' || b.device || ', step ' || b.step as place
from busy as b
left join step as s on s.trace_id = $trace_id and s.step = b.step
