-- Idle time in which the host fetches input.
select
    p.step,
    p.ts,
    p.dur,
    coalesce(f.loader, c.name) as name,
    coalesce(f.slice_id, c.slice_id) as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    f.loader_kind,
    f.dur as fetch_ns
from idle_piece as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join data_fetch as f on f.trace_id = p.trace_id and f.slice_id = coalesce(c.context_id, c.slice_id)
where p.trace_id = $trace_id and p.device = $device and p.cause = 'idle_data'
