-- Copies of one category with nothing beside them.
-- uses: counted_copy
select
    c.step, c.ts, c.dur, c.name, c.slice_id, c.exposed as claimed, c.category as cause, c.slice_id as busy_id,
    c.direction, c.bytes, c.bandwidth, c.stream, c.position, c.is_blocking, c.could_overlap as could_overlap_ns
from counted_copy as c
where
    c.category = $category
    and c.exposed > 0
