-- Idle time under fetches in which the training thread waits for worker processes. What nothing explains there is waiting, too.
-- uses: fetch_idle
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
    p.step, p.ts, p.dur, f.loader as name, f.slice_id,
    p.dur * f.waiting_share as claimed,
    p.cause, p.gap_id, f.dur as fetch_ns, f.waiting as waiting_ns
from fetch_idle as p
inner join fetched as f on f.slice_id = p.fetch_id
where f.waiting_share >= $least_waiting
