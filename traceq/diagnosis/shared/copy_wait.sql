-- Idle time while a call holds the host for a copy, and after that until the host has launched again what it could have launched
--   meanwhile: not for longer than it was held.
-- uses: idle, copy_call, drained_gap
with
held as (
    select distinct slice_id, name
    from copy_call
),

piece as (
    select *, cpu_slice_id as call_id, dur as claimed
    from idle
    where cause = 'idle_sync'
    union all
    select p.*, w.call_id, p.dur * w.share
    from idle as p
    inner join drained_gap as w using (gap_id)
    where p.cause in ('idle_launch', 'idle_python') or (p.cause = 'idle_launch_latency' and p.dur < $queued_ns)
)

select p.step, p.ts, p.dur, h.name, h.slice_id, p.claimed, p.cause, p.gap_id
from piece as p
inner join held as h on h.slice_id = p.call_id
