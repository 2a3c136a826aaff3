-- The idle time of all devices in all steps, and the part of it without a cause.
select
    coalesce(sum(dur), 0)::bigint as idle_dur,
    coalesce(sum(dur) filter (category = 'idle_unattributed'), 0)::bigint as idle_unattributed
from time_ledger
where trace_id = $trace_id and starts_with(category, 'idle_')
