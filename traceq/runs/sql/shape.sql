-- The inputs that the operators with most GPU time were given, where they were recorded: what tells batches apart.
select o.name as operator, o.args ->> 'Input Dims' as dims, sum(c.gpu_dur)::bigint as dur
from operator_cost as c
inner join (
    select trace_id, slice_id, name, args from cpu_slice
    union all
    select trace_id, slice_id, name, args from graph_operator
) as o using (trace_id, slice_id)
inner join step as s on s.trace_id = c.trace_id and s.step = c.step
where
    c.trace_id = $trace_id
    and s.excluded is null
    and c.kind in ('matmul', 'convolution', 'attention')
    and c.gpu_dur > 0
group by all
having dims is not null
order by dur desc, operator, dims
limit 100
