-- The calls of the threads from $first to $last that may be in a flame graph, by number: `label` is that of flame_name.
select c.slice_id, coalesce(c.parent_id, -1) as parent_id, c.thread_id, n.label, c.ts, c.ts_end
from cpu_slice as c
inner join flame_name as n on n.own_kind = c.kind and n.own_name = c.name
where
    c.trace_id = $trace_id and c.thread_id between $first and $last and c.depth is not null and c.dur > 0
    -- what the profiler says of itself
    and not (c.kind = 'other' and c.category is not distinct from 'Trace')
