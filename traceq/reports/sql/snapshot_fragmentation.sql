-- What the allocator held at the end, by pool and kind of segment.
select
    device,
    pool,
    kind,
    segments,
    reserved as reserved_bytes,
    active as active_bytes,
    rounding as rounding_bytes,
    free_segments as free_segments_bytes,
    split_inactive as split_inactive_bytes,
    largest_free as largest_free_bytes
from memory_fragmentation
where trace_id = $trace_id
order by device, reserved desc, pool, kind
