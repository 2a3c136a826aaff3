-- compiled_module: kernels that run within an operator of a compiled graph, by the module that _compiled_place has of the operator.
-- reads: _compiled_place, _compiled_call
-- makes: compiled_module
insert into compiled_module by name
select $trace_id as trace_id, k.slice_id, m.module
from (
    select g.slice_id, l.thread_id, l.ts
    from gpu_slice as g
    inner join cpu_slice as l on l.slice_id = g.launch_id
    where g.kind = 'kernel'
) as k
asof inner join _compiled_call as c on c.thread_id = k.thread_id and k.ts >= c.ts
inner join _compiled_place as m on m.sequence = c.sequence and m.place = c.place
where k.ts < c.ts_end
order by k.slice_id;
