-- Large copies that are much slower than the best of their kind in this trace, or than the link of the GPU for pinned memory: the time that
-- is too much.
with
copy as (
    select
        c.slice_id,
        c.step,
        g.ts,
        c.dur,
        g.name,
        c.category,
        c.direction,
        c.bytes,
        c.bandwidth,
        c.best_bandwidth,
        c.link_bandwidth,
        c.is_pageable,
        c.exposed,
        greatest(
            c.best_bandwidth, if(c.is_pageable = false and c.copy_kind <> 'um', $link_share * c.link_bandwidth, null)
        ) as possible
    from copy_overlap as c
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join step as s on s.trace_id = c.trace_id and s.step = c.step
    where
        c.trace_id = $trace_id
        and c.device = $device
        and s.excluded is null
        and c.copy_kind in ('h2d', 'd2h', 'p2p')
        and c.bytes >= $least_bytes
        and c.exposed > 0
)

select
    step,
    ts,
    dur,
    name,
    slice_id,
    exposed * (1 - bandwidth / possible) as claimed,
    category as cause,
    slice_id as busy_id,
    direction,
    bytes,
    bandwidth,
    best_bandwidth,
    link_bandwidth,
    is_pageable
from copy
where bandwidth < $slow_share * possible
