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
),

judged as (
    select
        device,
        step,
        category,
        coalesce(t.exposed, 0) <> coalesce(l.dur, 0)
        or coalesce(t.busy <> t.overlapped + t.hidden + t.exposed, false)
        or coalesce(least(t.overlapped, t.hidden, t.exposed) < 0, false) as is_broken
    from total as t
    full join ledger as l using (device, step, category)
)

select
    count(*) as checked,
    count(*) filter (is_broken) as broken,
    arg_min('device ' || device || ', step ' || step || ': ' || category, (step, device, category)) filter (is_broken) as example
from judged
