-- Idle time while a call holds the host for a copy, and after that until the host has launched again what it could have launched
-- meanwhile: not for longer than it was held.
-- uses: idle, copy_call, drained_gap
with
held as (
    select distinct slice_id, name, dur
    from copy_call
),

waiting as (
    select p.*, h.slice_id, h.name, if(p.cause = 'idle_sync', null, h.dur) as held
    from idle as p
    inner join drained_gap as g using (gap_id)
    inner join held as h on h.slice_id = if(p.cause = 'idle_sync', p.cpu_slice_id, g.drained_by)
    where p.cause in ('idle_sync', 'idle_launch', 'idle_python', 'idle_launch_latency')
)

select
    step,
    ts,
    dur,
    name,
    slice_id,
    dur * least(1, coalesce(held / sum(dur) over (partition by slice_id, held is null), 1)) as claimed,
    cause,
    gap_id
from waiting
