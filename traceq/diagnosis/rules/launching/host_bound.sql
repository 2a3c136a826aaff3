-- Idle time in which the host launched, or was inside an operator.
select
    p.step,
    p.ts,
    p.dur,
    regexp_replace(coalesce(o.name, c.name), ', (seq|op_id) = .*', '') as name,
    p.cpu_slice_id as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id
from idle_piece as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = if(c.kind = 'op', c.slice_id, c.operator_id)
where p.trace_id = $trace_id and p.device = $device and p.cause = 'idle_launch'
