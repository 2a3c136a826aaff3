-- Idle time under fetches in which the training thread waits for worker processes. What nothing explains there is waiting, too.
-- uses: idle
-- categories: idle_data
-- threshold: least_waiting = 0.5: the larger part of the fetch is waiting
with
fetched as (
    select slice_id, loader, dur, waiting, 1 - (transform + python + calls) / nullif(dur, 0) as waiting_share
    from data_fetch
    where
        trace_id = $trace_id
        and coalesce(
            loader_kind,
            -- the name of the range need not tell, threads of workers do
            (select any_value('multi_process') from data_worker where trace_id = $trace_id and role = 'worker')
        ) = 'multi_process'
)

select
    p.step,
    p.ts,
    p.dur,
    f.loader as name,
    f.slice_id,
    p.dur * f.waiting_share as claimed,
    p.cause,
    p.gap_id,
    f.dur as fetch_ns,
    f.waiting as waiting_ns
from idle as p
inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
inner join fetched as f on f.slice_id = coalesce(c.context_id, c.slice_id)
where
    p.cause = 'idle_data'
    and f.waiting_share >= $least_waiting
