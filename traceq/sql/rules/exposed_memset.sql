-- Memsets in whose time nothing else ran.
select
    step,
    ts,
    dur,
    name,
    slice_id,
    ledger_dur as claimed,
    category as cause,
    slice_id as busy_id
from busy_piece
where trace_id = $trace_id and device = $device and category = 'memset' and ledger_dur > 0
