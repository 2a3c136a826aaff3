-- The longest gaps of the counted steps, and what the host did in them.
with
longest as materialized (
    select g.*
    from idle_gap as g
    inner join step as s using (trace_id, step)
    where g.trace_id = $trace_id and s.excluded is null
    order by g.dur desc, g.device, g.ts
    limit $top
),

host as materialized (
    select slice_id, name
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id in (select cpu_slice_id from longest union select drained_by from longest)
)

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
from longest as g
left join host as c on c.slice_id = g.cpu_slice_id
left join host as d on d.slice_id = g.drained_by
left join gpu_slice as n on n.trace_id = g.trace_id and n.slice_id = g.next_slice_id
order by g.dur desc, g.device, g.ts
