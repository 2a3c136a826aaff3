-- Kernels that only change the layout of a tensor: conversions between NCHW and NHWC that cuDNN or MIOpen add to a convolution, and copies
-- made by contiguous() and reshape().
-- uses: kernel_name, counted
-- categories: compute
with
converting as materialized (
    select
        name,
        regexp_matches(name, '(?i)nchwToNhwc|nhwcToNchw|batched_transpose_\d+x\d+') as is_conversion
    from kernel_name
    where regexp_matches(name, '(?i)nchwToNhwc|nhwcToNchw|batched_transpose_\d+x\d+|direct_copy_kernel')
),

piece as (
    select k.slice_id, k.step, g.ts, g.dur, g.name, g.launch_id, k.exclusive_dur, n.is_conversion
    from gpu_slice as g
    inner join converting as n using (name)
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join counted on counted.step = k.step
    where
        g.trace_id = $trace_id
        and g.device = $device
        and g.kind = 'kernel'
        and n.is_conversion = ($what = 'conversion')
),

-- The operator that launched it and two around that one: ids first, names only of those.
chain as (
    select p.slice_id, l.operator_id as first_id, a.operator_id as second_id, b.operator_id as third_id
    from piece as p
    inner join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = p.launch_id
    left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = l.operator_id
    left join cpu_slice as b on b.trace_id = $trace_id and b.slice_id = a.operator_id
),

operator as (
    select slice_id, name
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id in (
            select first_id from chain union select second_id from chain union select third_id from chain
        )
),

-- aten::copy_ inside aten::contiguous or aten::reshape, with or without an aten::clone between them; or inside a convolution.
asked as (
    select
        p.*,
        case
            when not starts_with(a.name, 'aten::copy_') then null
            when regexp_matches(b.name, '^aten::(contiguous|reshape|_reshape_alias)(,|$)|conv|batch_norm') then b.name
            when starts_with(b.name, 'aten::clone') and regexp_matches(c.name, '^aten::(contiguous|reshape)(,|$)') then c.name
        end as asked_by,
        a.name as operator
    from piece as p
    left join chain as h using (slice_id)
    left join operator as a on a.slice_id = h.first_id
    left join operator as b on b.slice_id = h.second_id
    left join operator as c on c.slice_id = h.third_id
)

select
    step,
    ts,
    dur,
    name,
    slice_id,
    exclusive_dur as claimed,
    'compute' as cause,
    slice_id as busy_id,
    coalesce(asked_by, operator) as asked_by
from asked
where exclusive_dur > 0 and (is_conversion or asked_by is not null)
