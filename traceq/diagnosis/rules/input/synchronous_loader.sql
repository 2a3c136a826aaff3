-- Idle time under fetches by a loader that prepares batches in the training process.
-- confidence: high
-- reason: The name of the fetch says that the loader has no workers, and the GPU has nothing to do during it.
-- wrong-if: The process has no core to spare for workers, or the data set cannot be read by several processes.
-- needs: gpu, steps, fetches
-- low: 0.6
-- uses: idle
-- categories: idle_data
select
    p.step,
    p.ts,
    p.dur,
    f.loader as name,
    f.slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    -- workers take cores from the training thread
    'data_in_workers' as scenario,
    f.dur as fetch_ns,
    f.transform as operators_ns,
    f.reading as reading_ns
from idle as p
inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
inner join data_fetch as f on f.trace_id = p.trace_id and f.slice_id = coalesce(c.context_id, c.slice_id)
where
    p.cause = 'idle_data'
    and f.loader_kind = 'in_process'
