-- What autograd's anomaly detection asks in the backward pass: after the function of a node it looks for NaN in each gradient (aten::isnan,
-- then aten::item, under the node itself), here from the first question of a node to its last answer. A hook asks before the function
-- (of a tensor) or where there is none (of a parameter), and in some nodes only; detection asks in all.
-- threshold: most_nodes = 0.5: detection asks in each node that hands on a gradient, hooks in those of some tensors
with
node as (
    select slice_id, name, thread_id
    from cpu_slice
    where trace_id = $trace_id and kind = 'op' and starts_with(name, 'autograd::engine::evaluate_function') and not contains(name, 'AccumulateGrad')
),

asked as (
    select n.slice_id, min(i.ts) as ts
    from node as n
    inner join cpu_slice as i on i.trace_id = $trace_id and i.parent_id = n.slice_id and i.kind = 'op' and i.name = 'aten::isnan'
    inner join cpu_slice as f on f.trace_id = $trace_id and f.parent_id = n.slice_id and f.kind = 'op' and f.ts_end <= i.ts
    where f.name not in ('aten::isnan', 'aten::any', 'aten::_is_any_true', 'aten::item', 'aten::is_nonzero')
    group by n.slice_id
),

answered as (
    select a.slice_id, a.ts, max(i.ts_end) as ts_end
    from asked as a
    inner join cpu_slice as i on i.trace_id = $trace_id and i.parent_id = a.slice_id and i.name in ('aten::item', 'aten::is_nonzero')
    where i.ts >= a.ts
    group by a.slice_id, a.ts
)

select n.slice_id, n.name, n.thread_id, a.ts, a.ts_end
from answered as a
inner join node as n using (slice_id)
where (select count(*) from answered) >= $most_nodes * (select count(*) from node)
