-- Idle time under fetches by a loader that prepares batches in the training process.
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
from idle_piece as p
inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
inner join data_fetch as f on f.trace_id = p.trace_id and f.slice_id = coalesce(c.context_id, c.slice_id)
where
    p.trace_id = $trace_id
    and p.device = $device
    and p.cause = 'idle_data'
    and f.loader_kind = 'in_process'
