-- Copies to the host and back of the same size within a step, step after step, where nothing else of that size comes to the device.
-- Large ones that come back for backward or the optimizer are offloading, which is meant.
with
copy as (
    select
        c.slice_id,
        c.step,
        c.copy_kind,
        c.bytes,
        c.bandwidth,
        c.category,
        c.dur,
        c.exposed,
        c.position,
        c.returns_slice_id
    from copy_overlap as c
    inner join step as s using (trace_id, step)
    where
        c.trace_id = $trace_id
        and c.device = $device
        and s.excluded is null
        and c.copy_kind in ('h2d', 'd2h')
        and c.bytes >= $least_bytes
),

trip as (
    select b.step, b.bytes, b.slice_id as back_id, a.slice_id as away_id
    from copy as b
    inner join copy as a on a.slice_id = b.returns_slice_id
    where
        b.position not in ('data', 'checkpoint', 'pipeline')
        and a.position not in ('checkpoint', 'pipeline')
        and (b.bytes < $offload_bytes or b.position not in ('backward', 'optimizer'))
),

size as (
    select c.bytes
    from copy as c
    left join trip as t on t.back_id = c.slice_id
    where c.copy_kind = 'h2d'
    group by c.bytes
    having
        count(distinct t.step) >= greatest(2, $least_steps_share * (select steps from step_stats where trace_id = $trace_id))
        and count(t.back_id) = count(*)
),

way as (
    select unnest([away_id, back_id]) as slice_id, back_id
    from trip
    inner join size using (bytes)
)

select
    c.step,
    g.ts,
    c.dur,
    g.name,
    c.slice_id,
    c.exposed as claimed,
    c.category as cause,
    c.slice_id as busy_id,
    c.copy_kind as direction,
    c.bytes,
    c.bandwidth,
    w.back_id as back_slice_id
from way as w
inner join copy as c using (slice_id)
inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = c.slice_id
where c.exposed > 0
