-- Kernels of the critical device and the operator whose floating-point operations or bytes they are part of (operator_cost): the one
-- that launched them, or one of the two around it; of kernels of a graph, as it was captured.
-- uses: busy
with
launched as (
    select b.slice_id, i.slice_id as inner_id, i.operator_id as outer_id, a.operator_id as outermost_id
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    inner join cpu_slice as i on i.trace_id = b.trace_id and i.slice_id = l.operator_id
    left join cpu_slice as a on a.trace_id = b.trace_id and a.slice_id = i.operator_id
    where
        b.category = 'compute'
        and b.slice_id not in (select slice_id from graph_kernel where trace_id = $trace_id and operator_id is not null)
    union all
    select b.slice_id, i.slice_id, i.operator_id, a.operator_id
    from busy as b
    inner join graph_kernel as g using (trace_id, slice_id)
    inner join graph_operator as i on i.trace_id = b.trace_id and i.slice_id = g.operator_id
    left join graph_operator as a on a.trace_id = b.trace_id and a.slice_id = i.operator_id
    where b.category = 'compute'
)

select l.slice_id, coalesce(x.slice_id, y.slice_id, z.slice_id) as operator_id
from launched as l
left join operator_cost as x on x.trace_id = $trace_id and x.slice_id = l.inner_id
left join operator_cost as y on y.trace_id = $trace_id and y.slice_id = l.outer_id and x.slice_id is null
left join operator_cost as z on z.trace_id = $trace_id and z.slice_id = l.outermost_id and x.slice_id is null and y.slice_id is null
where coalesce(x.slice_id, y.slice_id, z.slice_id) is not null
