-- The longest gaps of the counted steps, and what the host did in them.
select
    g.device,
    g.step,
    g.ts,
    g.dur,
    g.cause,
    c.name as host,
    g.operator,
    g.annotation,
    d.name as drained_by,
    n.name as next_work
from idle_gap as g
inner join step as s using (trace_id, step)
left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.cpu_slice_id
left join cpu_slice as d on d.trace_id = g.trace_id and d.slice_id = g.drained_by
left join gpu_slice as n on n.trace_id = g.trace_id and n.slice_id = g.next_slice_id
where g.trace_id = $trace_id and s.excluded is null
order by g.dur desc, g.device, g.ts
limit $top
