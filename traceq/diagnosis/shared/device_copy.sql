-- Copies inside the device whose origin is known: what asked for them.
-- uses: counted_copy
with
copy as (
    select c.slice_id, c.step, c.ts, c.dur, c.name, c.launch_id, c.bytes, c.bandwidth, c.exposed
    from counted_copy as c
    where
        c.copy_kind = 'd2d'
        and c.exposed > 0
),

-- The operator that copies, what is around it, and the annotation around the call: ids first, names only of those.
chain as (
    select
        c.slice_id,
        l.operator_id as operator_id,
        coalesce(o.operator_id, o.annotation_id) as around_id,
        l.annotation_id as annotation_id
    from copy as c
    inner join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = c.launch_id
    inner join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
),

named as (
    select slice_id, name
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id in (
            select operator_id from chain union select around_id from chain union select annotation_id from chain
        )
),

asked as (
    select c.*, o.name as operator, coalesce(a.name, '') as around, coalesce(n.name, '') as annotation
    from copy as c
    inner join chain as h using (slice_id)
    inner join named as o on o.slice_id = h.operator_id
    left join named as a on a.slice_id = h.around_id
    left join named as n on n.slice_id = h.annotation_id
),

known as (
    select
        *,
        case
            when contains(around, 'ddp.reducer::') or contains(annotation, 'ddp.reducer::') then 'bucket'
            when contains(around, 'AccumulateGrad') then 'gradient'
            when contains(around, 'DistributedDataParallel.forward') and starts_with(operator, 'aten::copy_') then 'buffer'
            when starts_with(around, 'CompiledFunction') or starts_with(around, '## Call CompiledFxGraph') then 'compiled'
            when starts_with(operator, 'aten::cat') then 'cat'
            when starts_with(operator, 'aten::copy_') and regexp_matches(around, '^aten::(to|_to_copy|clone|contiguous|reshape|constant_pad_nd)(,|$)')
                then 'clone'
        end as origin
    from asked
)

select
    step, ts, dur, name, slice_id, exposed as claimed, 'copy_other' as cause, slice_id as busy_id,
    'd2d' as direction, bytes, bandwidth, origin, operator, around
from known
where origin is not null
