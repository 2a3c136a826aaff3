-- serving_bytes: what the operators of serving steps read of weights and of the KV cache, as far as their shapes say. From the
-- signatures of operator_shape.sql; of operators around one another operator_cost has the innermost.
-- reads: _costed_operator, _element_type, _operand, _signature, device_activity, graph_kernel, graph_operator
-- reads: operator_cost, serving_mark, step
-- makes: serving_bytes

insert into serving_bytes by name
with
costed as (
    select c.step, c.device, c.kind, o.name, o.signature
    from operator_cost as c
    inner join _costed_operator as o using (slice_id)
    where c.kind in ('matmul', 'attention') and c.step in (select step from serving_step)
),

-- Products of a matrix with what the step computes: the weight comes second, of a product with a vector first.
weight as (
    select c.step, c.device, sum(w.elements * w.size) as bytes
    from costed as c
    inner join _signature as s using (signature)
    inner join _operand as w
        on w.signature = c.signature and w.position = s.first + if(c.name in ('aten::mv', 'aten::addmv'), 0, 1)
    where c.kind = 'matmul' and len(w.shape) = 2
    group by c.step, c.device
),

kv as (
    select c.step, c.device, sum((k.elements + v.elements) * k.size) as bytes
    from costed as c
    inner join _signature as s using (signature)
    inner join _operand as k on k.signature = c.signature and k.position = s.first + 1
    inner join _operand as v on v.signature = c.signature and v.position = s.first + 2
    where c.kind = 'attention'
    group by c.step, c.device
),

-- What writes the cache says what a token takes in it: two tensors with a row for each token, and the cache in its type (third).
written as (
    select
        c.slice_id,
        from_json(json_extract_string(c.args, '$."Input Dims"'), '["JSON"]')[1:2] as sizes,
        from_json(json_extract_string(c.args, '$."Input type"'), '["VARCHAR"]')[3] as type
    from (
        select slice_id, name, args from cpu_slice where kind = 'op'
        union all
        select slice_id, name, args from graph_operator
    ) as c
    where
        regexp_matches(c.name, '^(_C_cache_ops|vllm|sglang|sgl_kernel)::(reshape_and_cache(_flash)?|concat_and_cache_mla|store_cache)$')
        and c.args is not null
),

cache as (
    select g.step, g.device, sum(w.elements * t.size) as bytes
    from (
        select
            *,
            list_sum(list_transform(sizes, lambda s: _volume(try_cast(try_cast(s as bigint[])[2:] as double[])))) as elements
        from written
    ) as w
    -- fp8 is kept in bytes without a type
    inner join _element_type as t on t.type = w.type
    inner join (
        select coalesce(k.operator_id, l.operator_id) as operator_id, min(g.step) as step, min(g.device) as device
        from gpu_slice as g
        inner join cpu_slice as l on l.slice_id = g.launch_id
        left join graph_kernel as k on k.slice_id = g.slice_id
        where g.kind = 'kernel' and coalesce(k.operator_id, l.operator_id) in (select slice_id from written)
        group by all
    ) as g on g.operator_id = w.slice_id
    where g.step in (select step from serving_step)
    group by g.step, g.device
),

read as (
    select step, device, bytes as weight_bytes, null::double as kv_bytes, null::double as token_bytes from weight
    union all
    select step, device, null, bytes, null from kv
    union all
    select step, device, null, null, bytes from cache
)

select
    $trace_id as trace_id,
    step,
    device,
    try_cast(sum(weight_bytes) as bigint) as weight_bytes,
    try_cast(sum(kv_bytes) as bigint) as kv_bytes,
    try_cast(sum(token_bytes) as bigint) as token_bytes
from read
group by step, device
order by step, device;
