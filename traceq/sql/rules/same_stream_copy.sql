-- Asynchronous copies of pinned memory in the queue of the stream that computes, as far as compute of the same step could have run beside them.
with
computing as (
    select stream
    from gpu_slice
    where trace_id = $trace_id and device = $device and kind in ('kernel', 'graph') and not is_communication
    group by stream
    qualify sum(dur) >= $main_share * sum(sum(dur)) over ()
)

select
    c.step,
    g.ts,
    c.dur,
    g.name,
    c.slice_id,
    least(c.exposed, c.could_overlap) as claimed,
    c.category as cause,
    c.slice_id as busy_id,
    c.direction,
    c.bytes,
    c.bandwidth,
    g.stream,
    c.position
from copy_overlap as c
inner join gpu_slice as g using (trace_id, slice_id)
inner join step as s on s.trace_id = c.trace_id and s.step = c.step
where
    c.trace_id = $trace_id
    and c.device = $device
    and s.excluded is null
    and c.copy_kind in ('h2d', 'd2h')
    and c.is_async_call
    and not c.is_pageable
    and not c.is_blocking
    and least(c.exposed, c.could_overlap) > 0
    and c.position not in ('item', 'checkpoint')
    and g.stream in (select stream from computing)
