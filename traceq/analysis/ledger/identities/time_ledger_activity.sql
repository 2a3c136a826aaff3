-- The ledger is the timeline of each device, summed per step and category; the causes of idle time are its idle segments.
with
activity as (
    select device, step, category, sum(dur) as dur
    from device_activity
    where trace_id = $trace_id and step is not null
    group by device, step, category
),

ledger as (
    select device, step, if(starts_with(category, 'idle_'), 'idle', category) as category, sum(dur) as dur
    from time_ledger
    where trace_id = $trace_id
    group by all
)

select
    step, device, category,
    a.dur is distinct from l.dur as is_broken,
    'device ' || device || ', step ' || step || ': ' || category as place
from activity as a
full join ledger as l using (device, step, category)
