-- serving_bytes: what the operators of serving steps read of weights and of the KV cache, as far as their shapes say. From the
-- signatures of operator_shape.sql; of operators around one another operator_cost has the innermost.

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

read as (
    select step, device, bytes as weight_bytes, null::double as kv_bytes from weight
    union all
    select step, device, null, bytes from kv
)

select
    $trace_id as trace_id,
    step,
    device,
    try_cast(sum(weight_bytes) as bigint) as weight_bytes,
    try_cast(sum(kv_bytes) as bigint) as kv_bytes
from read
group by step, device
order by step, device;
