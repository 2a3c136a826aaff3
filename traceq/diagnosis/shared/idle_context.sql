-- Idle time in which the host compiled or loaded code, with the outermost range that says so.
select
    p.step,
    p.ts,
    p.dur,
    coalesce(x.name, c.name) as name,
    coalesce(x.slice_id, c.slice_id) as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    coalesce(x.dur, c.dur) as compile_ns
from idle_piece as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join cpu_slice as x on x.trace_id = c.trace_id and x.slice_id = c.context_id
where p.trace_id = $trace_id and p.device = $device and p.cause = 'idle_compile'
