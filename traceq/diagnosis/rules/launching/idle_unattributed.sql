-- Idle time without a cause.
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle_piece as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.trace_id = $trace_id and p.device = $device and p.cause = 'idle_unattributed'
