-- operator_cost: of operators around one another the innermost with a cost has it, and the kernels launched under it.
-- reads: _costed_operator, _element_type, _kernel_operand, _product_name, _signature_ceiling, _signature_cost
-- reads: graph_kernel, graph_operator, kernel_occupancy, step
-- makes: operator_cost

-- Every operator with what is asked of it on the way up.
create temp table _operator as
select
    c.slice_id,
    c.operator_id as parent,
    s.signature is not null as has_cost,
    s.flops is not null as has_flops,
    n.name is not null as is_product
from (
    select slice_id, operator_id, name from cpu_slice where kind = 'op'
    union all
    select slice_id, operator_id, name from graph_operator
) as c
left join _costed_operator as o using (slice_id)
left join _signature_cost as s using (signature)
left join _product_name as n on n.name = c.name
where exists (from _signature_cost);

create temp table _launched as
select g.slice_id, l.operator_id
from gpu_slice as g
inner join cpu_slice as l on l.slice_id = g.launch_id
where
    g.kind = 'kernel'
    and l.operator_id is not null
    and exists (from _signature_cost)
    and g.slice_id not in (select slice_id from graph_kernel where operator_id is not null)
union all
select slice_id, operator_id from graph_kernel where operator_id is not null and exists (from _signature_cost);

-- From operators with kernels to the nearest one with a cost, and from each with a cost to the nearest above it; with the
-- products on the way.
create temp table _climb as
with recursive
start as (
    select distinct operator_id as origin, operator_id as at, false as wants_flops, true as launches, 0 as height
    from _launched
    union all
    select slice_id, parent, false, false, 0 from _operator where has_cost and parent is not null
    union all
    select slice_id, parent, true, false, 0 from _operator where has_flops and parent is not null
),

climb as (
    from start
    union all
    select c.origin, o.parent, c.wants_flops, c.launches, c.height + 1
    from climb as c
    inner join _operator as o on o.slice_id = c.at
    where o.parent is not null and not if(c.wants_flops, o.has_flops, o.has_cost)
)

select
    c.origin,
    c.at as slice_id,
    c.wants_flops, c.launches, c.height, o.has_flops,
    if(c.wants_flops, o.has_flops, o.has_cost) as is_nearest
from climb as c
inner join _operator as o on o.slice_id = c.at
where is_nearest or o.is_product;

create temp table _nearest as
select origin, slice_id, wants_flops, launches, has_flops
from _climb
where is_nearest;

-- Kernels without any operator with a cost around them: the innermost product has them, unless it is only around others whose
-- operations are known.
create temp table _unknown as
select origin, arg_min(slice_id, height) as slice_id
from _climb
where
    launches
    and origin not in (select origin from _nearest where launches)
    and slice_id not in (select slice_id from _climb where wants_flops)
group by origin;

drop table _climb;

insert into operator_cost by name
with
-- around another one: what is inside has the cost; bytes inside take nothing from the products of what is around them
outer_operator as (
    select distinct slice_id
    from _nearest
    where not launches and wants_flops = has_flops
),

owner as (
    select origin, slice_id from _nearest where launches
    union all
    select origin, slice_id from _unknown
),

kernel as (
    select
        n.slice_id,
        count(*) as kernels,
        sum(k.exclusive_dur) as gpu_dur,
        if(min(k.device) = max(k.device), min(k.device), null) as device,
        min(k.step) as step,
        coalesce(bool_or(k.tensor_core), false) as on_tensor_cores,
        count(k.tensor_core) = count(*) as is_told,
        if(min(t.dtype) = max(t.dtype), min(t.dtype), null) as dtype
    from _launched as l
    inner join owner as n on n.origin = l.operator_id
    inner join kernel_occupancy as k on k.slice_id = l.slice_id
    inner join gpu_slice as g on g.slice_id = l.slice_id
    left join _kernel_operand as t on t.name = g.name
    group by n.slice_id
),

recorded as (
    select o.slice_id, o.ts, s.signature, s.kind, s.dtype, s.flops, s.bytes, s.elements
    from _costed_operator as o
    inner join _signature_cost as s using (signature)
    where o.slice_id not in (select slice_id from outer_operator) and coalesce(s.flops, s.bytes) is not null
    union all
    select c.slice_id, c.ts, null, n.kind, null, null, null, null
    from (
        select slice_id, ts, name from cpu_slice
        union all
        select slice_id, ts, name from graph_operator
    ) as c
    inner join _product_name as n using (name)
    where c.slice_id in (select slice_id from _unknown)
),

-- Without recorded types the kernels tell: their names have that of the operands.
operator as (
    select r.* exclude (elements) replace (
        coalesce(r.dtype, if(r.flops is not null, k.dtype, null)) as dtype,
        coalesce(r.bytes, if(r.dtype is null, r.elements * z.size, null)) as bytes
    )
    from recorded as r
    left join kernel as k using (slice_id)
    left join (select dtype, min(size) as size from _element_type group by dtype) as z on z.dtype = k.dtype
),

cost as (
    select
        s.*,
        k.step as launched_step,
        k.device,
        coalesce(k.kernels, 0) as kernels,
        round(k.gpu_dur)::bigint as gpu_dur,
        case
            when s.flops is null then null
            when s.dtype not in ('fp32', 'fp64') then s.dtype
            when s.dtype = 'fp32' and k.on_tensor_cores and m.compute_capability is not null then 'tf32'
            when s.dtype = 'fp64' and k.on_tensor_cores then 'fp64_tensor'
            when not k.on_tensor_cores and k.is_told then s.dtype
        end as compute_type,
        m
    from operator as s
    left join kernel as k using (slice_id)
    left join device_model as m on m.trace_id = $trace_id and m.device = k.device
),

peaked as (
    select
        *,
        m.memory_bandwidth as memory_bandwidth,
        case compute_type
            when 'fp64' then m.fp64
            when 'fp64_tensor' then m.fp64_tensor
            when 'fp32' then m.fp32
            when 'tf32' then m.tf32
            when 'fp16' then m.fp16
            when 'bf16' then m.bf16
            when 'fp8' then m.fp8
            when 'int8' then m.int8
        end as peak,
        flops / nullif(bytes, 0) as intensity
    from cost
)

select
    $trace_id as trace_id,
    p.* exclude (ts, launched_step, m, signature),
    coalesce(p.launched_step, if(p.kernels = 0 and p.ts < s.ts_end, s.step, null)) as step,
    p.flops / nullif(p.gpu_dur, 0) / 1000 as achieved,
    p.bytes / nullif(p.gpu_dur, 0) as achieved_bandwidth,
    p.peak * 1e12 / p.memory_bandwidth as ridge,
    case
        when p.intensity >= p.peak * 1e12 / p.memory_bandwidth then 'compute'
        when p.intensity < p.peak * 1e12 / p.memory_bandwidth then 'memory'
        else 'unknown'
    end as bound,
    x.ceiling_dur, x.reachable_dur, x.filled_dur, x.ceiling_limit
from peaked as p
left join _signature_ceiling as x
    on x.signature = p.signature and x.device = p.device and x.compute_type is not distinct from p.compute_type
asof left join step as s on p.ts >= s.ts
order by p.slice_id;
