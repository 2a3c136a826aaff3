-- What says how long the work of a trace's GPUs would take on another one: of each kernel, copy and memset the operator whose
-- cost it bears, else what its name tells.
-- reads: _costed_operator, collective_slice, device_activity, graph_kernel, graph_operator, kernel_occupancy, operator_cost
-- reads: serving_mark, step
with recursive
launched as (
    select
        g.slice_id,
        coalesce(k.operator_id, l.operator_id) as operator_id
    from gpu_slice as g
    left join (select * from graph_kernel where trace_id = $trace_id and operator_id is not null) as k on k.slice_id = g.slice_id
    left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.kind = 'kernel' and coalesce(k.operator_id, l.operator_id) is not null
),

costed as (
    select o.slice_id, o.compute_type, o.gpu_dur, o.kernels, c.signature
    from operator_cost as o
    inner join _costed_operator as c on c.slice_id = o.slice_id
    where o.trace_id = $trace_id and o.kernels > 0
),

parent as (
    select slice_id, operator_id from cpu_slice where trace_id = $trace_id and kind = 'op'
    union all
    select slice_id, operator_id from graph_operator where trace_id = $trace_id
),

-- from each operator that launches to the innermost one that bears the cost
climb as (
    select distinct operator_id as origin, operator_id as at
    from launched
    union all
    select c.origin, p.operator_id
    from climb as c
    inner join parent as p on p.slice_id = c.at
    where p.operator_id is not null and c.at not in (select slice_id from costed)
),

-- kernels of matrix libraries multiply, unless their names say that they do not
class as (
    select
        slice_id,
        family,
        tensor_core,
        coalesce(
            tensor_core,
            family in ('cublas', 'cutlass', 'cudnn', 'composable_kernel', 'hipblas', 'miopen', 'flash_attention', 'linear_attention')
        ) as is_product
    from kernel_occupancy
    where trace_id = $trace_id
),

owner as (
    select c.origin, o.*
    from climb as c
    inner join costed as o on o.slice_id = c.at
)

select
    g.slice_id,
    g.device,
    g.dur::double as dur,
    case
        when g.is_communication then 'communication'
        when g.kind = 'memset' then 'memory'
        when g.kind = 'memcpy' and g.copy_kind in ('h2d', 'd2h') then 'host_copy'
        when g.kind = 'memcpy' and (g.copy_kind = 'p2p' or g.src_device <> g.dst_device) then 'peer_copy'
        when g.kind = 'memcpy' then 'memory'
        -- a CUDA graph that was recorded as a whole
        when g.kind <> 'kernel' then 'unknown'
        -- a step with so few tokens reads weights and keys more than it multiplies
        when k.is_product and v.kind = 'decode' then 'few_rows'
        when k.is_product then 'matrix'
        when k.family in (
            'elementwise', 'copy', 'norm', 'softmax', 'reduce', 'index', 'embedding', 'optimizer', 'kv_cache', 'loss', 'pooling'
        ) then 'memory'
        -- one query at a time, sums of what several blocks computed; Inductor's and nvFuser's pointwise kernels and reductions
        when k.tensor_core = false and k.family in ('flash_attention', 'linear_attention', 'triton', 'nvfuser') then 'memory'
        -- a matrix times a vector, sums of split products
        when k.tensor_core = false and regexp_matches(g.name, '(?i)gemv|splitk') then 'memory'
        else 'unknown'
    end as work,
    case
        when regexp_matches(g.name, '(?i)fp8|e4m3|e5m2|a8w8|w8a8') then 'fp8'
        when regexp_matches(g.name, '(?i)(^|[^a-z])tf32') then 'tf32'
        when regexp_matches(g.name, '(?i)double|dgemm|f64|fp64') then 'fp64'
        when k.is_product and k.tensor_core is distinct from false or g.kind <> 'kernel' then 'bf16'
        else 'fp32'
    end as arithmetic,
    coalesce(g.kind = 'memcpy' and 'pageable' in (g.src_memory, g.dst_memory), false) as is_pageable,
    v.new_tokens as tokens,
    o.slice_id as operator_id,
    o.signature,
    o.compute_type,
    o.gpu_dur::double as operator_dur,
    -- of a collective what it takes when no rank comes late
    t.transfer::double as transfer,
    s.group_size
from gpu_slice as g
left join class as k on k.slice_id = g.slice_id
left join launched as l on l.slice_id = g.slice_id
left join owner as o on o.origin = l.operator_id
left join serving_step as v on v.trace_id = g.trace_id and g.ts >= v.ts and g.ts < v.ts + v.dur
left join collective_transfer as t on t.trace_id = g.trace_id and t.slice_id = g.slice_id
left join collective_slice as s on s.trace_id = g.trace_id and s.slice_id = g.slice_id
where g.trace_id = $trace_id
order by g.slice_id;
