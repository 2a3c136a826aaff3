-- Idle time under fetches from worker processes in which the training thread itself is busy: what it does takes of it.
-- uses: idle
-- categories: idle_data
with
fetched as (
    select slice_id, loader, dur, transform, python, calls, (transform + python + calls) / nullif(dur, 0) as busy_share
    from data_fetch
    where trace_id = $trace_id and loader_kind = 'multi_process'
)

select
    p.step,
    p.ts,
    p.dur,
    f.loader as name,
    f.slice_id,
    p.dur * f.busy_share as claimed,
    p.cause,
    p.gap_id,
    f.dur as fetch_ns,
    f.transform as operators_ns,
    f.python as python_ns,
    f.calls as calls_ns
from idle as p
inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
inner join fetched as f on f.slice_id = coalesce(c.context_id, c.slice_id)
where
    p.cause = 'idle_data'
    and f.busy_share >= $least_busy
