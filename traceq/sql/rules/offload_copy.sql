-- Large copies to the host in forward, backward or optimizer, and such copies back in backward or optimizer, in the same steps: memory that
-- is offloaded.
with
copy as (
    select
        c.slice_id,
        c.step,
        g.ts,
        c.dur,
        g.name,
        c.direction,
        c.bytes,
        c.bandwidth,
        c.category,
        c.position,
        c.exposed,
        c.overlapped
    from copy_overlap as c
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join step as s on s.trace_id = c.trace_id and s.step = c.step
    where
        c.trace_id = $trace_id
        and c.device = $device
        and s.excluded is null
        and c.copy_kind in ('h2d', 'd2h')
        and c.bytes >= $least_bytes
        and c.position in ('forward', 'backward', 'optimizer')
),

offloading as (
    select step
    from copy
    group by step
    having
        count(*) filter (direction = 'd2h') > 0
        and count(*) filter (direction = 'h2d' and position <> 'forward') > 0
        and sum(bytes) filter (direction = 'h2d') between
            sum(bytes) filter (direction = 'd2h') / $most_ratio and sum(bytes) filter (direction = 'd2h') * $most_ratio
)

select
    step,
    ts,
    dur,
    name,
    slice_id,
    exposed as claimed,
    category as cause,
    slice_id as busy_id,
    direction,
    bytes,
    bandwidth,
    position,
    overlapped as overlapped_ns
from copy
where
    exposed > 0
    and step in (select step from offloading)
    and (select count(*) from offloading)
    >= greatest(2, $least_steps_share * (select steps from step_stats where trace_id = $trace_id))
