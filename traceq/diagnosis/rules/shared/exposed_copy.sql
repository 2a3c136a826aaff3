-- Copies of one category with nothing beside them.
select
    c.step,
    g.ts,
    c.dur,
    g.name,
    c.slice_id,
    c.exposed as claimed,
    c.category as cause,
    c.slice_id as busy_id,
    c.direction,
    c.bytes,
    c.bandwidth,
    g.stream,
    c.position,
    c.is_blocking,
    c.could_overlap as could_overlap_ns
from copy_overlap as c
inner join gpu_slice as g using (trace_id, slice_id)
inner join step as s on s.trace_id = c.trace_id and s.step = c.step
where
    c.trace_id = $trace_id
    and c.device = $device
    and s.excluded is null
    and c.category = $category
    and c.exposed > 0
