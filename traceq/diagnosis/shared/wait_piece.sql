-- Idle time while a call holds the host, and after that until the host has launched again: not for longer than it was held. Each piece with
-- the call and the time (claimed) that is the call's.
-- uses: idle, drained_gap
select *, cpu_slice_id as call_id, dur as claimed
from idle
where cause = 'idle_sync'
union all
select p.*, w.call_id, p.dur * w.share
from idle as p
inner join drained_gap as w using (gap_id)
where p.cause in ('idle_launch', 'idle_python') or (p.cause = 'idle_launch_latency' and p.dur < $queued_ns)
