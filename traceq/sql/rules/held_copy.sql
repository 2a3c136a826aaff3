-- Copies that hold the host until they are done, and the time for which the GPU idles meanwhile. `kind` tells them apart: pageable (asked for
-- asynchronously) or blocking (by synchronous calls; a small copy to the device returns once its bytes are staged and holds nobody).
-- Reading a value (.item()) is another matter.
with
copy as (
    select
        c.slice_id, c.step, g.ts, c.dur, g.name, g.launch_id, c.direction, c.bytes, c.bandwidth, c.category, c.exposed
    from copy_overlap as c
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join step as s on s.trace_id = c.trace_id and s.step = c.step
    where
        c.trace_id = $trace_id
        and c.device = $device
        and s.excluded is null
        and c.direction in ('h2d', 'd2h')
        and case $kind
            when 'blocking' then not c.is_async_call and (c.direction = 'd2h' or c.bytes is null or c.bytes > $least_bytes)
            else c.copy_kind <> 'um' and c.is_pageable and c.is_async_call and c.bytes >= $least_bytes
        end
        and c.position not in ('item', 'checkpoint')
),

operator as (
    -- Where PyTorch copies, the wait for the copy is a call of its own inside the same operator.
    select distinct l.operator_id
    from copy as c
    inner join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = c.launch_id
    inner join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
    where regexp_matches(o.name, '^aten::(copy_|_to_copy|to)(,|$)')
),

held as (
    select slice_id, name, dur
    from cpu_slice
    where trace_id = $trace_id and kind = 'runtime' and slice_id in (select launch_id from copy)
    union
    select slice_id, name, dur
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'runtime'
        and operator_id in (select operator_id from operator)
        and contains(name, 'Synchronize')
),

-- The GPU idles while the call holds the host, and after that until the host has launched again what it could have launched
-- meanwhile: not for longer than it was held.
idle as (
    select
        p.step,
        p.ts,
        p.dur,
        coalesce(own.name, drain.name) as name,
        coalesce(own.slice_id, drain.slice_id) as slice_id,
        if(own.slice_id is null, drain.dur, null) as held,
        p.cause,
        p.gap_id
    from idle_piece as p
    left join held as own on own.slice_id = p.cpu_slice_id and p.cause = 'idle_sync'
    left join held as drain on drain.slice_id = p.drained_by
    where
        p.trace_id = $trace_id
        and p.device = $device
        and (
            own.slice_id is not null
            or (drain.slice_id is not null and p.cause in ('idle_launch', 'idle_python', 'idle_launch_latency'))
        )
)

select
    step,
    ts,
    dur,
    name,
    slice_id,
    exposed as claimed,
    category as cause,
    null as gap_id,
    slice_id as busy_id,
    category as scenario,
    direction,
    bytes,
    bandwidth
from copy
where exposed > 0
union all
select
    step,
    ts,
    dur,
    name,
    slice_id,
    dur * least(1, coalesce(held / sum(dur) over (partition by gap_id, held is null), 1)) as claimed,
    cause,
    gap_id,
    null as busy_id,
    'idle_sync' as scenario,
    null as direction,
    null as bytes,
    null as bandwidth
from idle
