-- Copies per device, step and category: the parts add up to the time in which any ran, and what is exposed is the ledger's.
with
total as (
    select device, step, category, busy, overlapped, hidden, exposed
    from copy_total
    where trace_id = $trace_id and step is not null
),

ledger as (
    select device, step, category, dur
    from time_ledger
    where trace_id = $trace_id and category in ('copy_h2d', 'copy_d2h', 'copy_other')
)

select
    step, device, category,
    coalesce(t.exposed, 0) <> coalesce(l.dur, 0)
    or coalesce(t.busy <> t.overlapped + t.hidden + t.exposed, false)
    or coalesce(least(t.overlapped, t.hidden, t.exposed) < 0, false) as is_broken,
    'device ' || device || ', step ' || step || ': ' || category as place
from total as t
full join ledger as l using (device, step, category)
