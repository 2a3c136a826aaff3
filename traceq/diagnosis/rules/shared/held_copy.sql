-- Copies that hold the host until they are done, and the time for which the GPU idles meanwhile. `kind` tells them apart: pageable (asked for
-- asynchronously) or blocking (by synchronous calls). Of a copy of few bytes only the waiting counts: its own time is that of any copy.
-- Reading a value (.item()) is another matter.
-- uses: counted_copy, copy_call, copy_wait
-- categories: idle_launch, idle_launch_latency, idle_python, idle_sync
-- threshold: least_bytes = 65536: up to 64 KiB a copy to the device is staged at once and its call returns (CUDA: API
--   synchronization behaviour)
with
copy as (
    select *
    from counted_copy as c
    where
        c.direction in ('h2d', 'd2h')
        and case $kind
            when 'blocking' then not c.is_async_call
            else c.copy_kind <> 'um' and c.is_pageable and c.is_async_call
        end
        and c.position not in ('item', 'checkpoint')
)

select step, ts, dur, name, slice_id, exposed as claimed, category as cause, null as gap_id, slice_id as busy_id, category as scenario, direction, bytes, bandwidth
from copy
where exposed > 0 and (direction = 'd2h' and $kind = 'blocking' or bytes is null or bytes >= $least_bytes)
union all
select step, ts, dur, name, slice_id, claimed, cause, gap_id, null, 'idle_sync', null, null, null
from copy_wait
where slice_id in (select k.slice_id from copy_call as k inner join copy as c on c.slice_id = k.copy_id)
