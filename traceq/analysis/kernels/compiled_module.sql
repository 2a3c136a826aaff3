-- compiled_module: kernels that run within an operator of a compiled graph, by the module (path) of it in _compiled_place.
-- reads: _compiled_call, _compiled_place
-- makes: compiled_module
insert into compiled_module by name
select $trace_id as trace_id, k.slice_id, m.path as module
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
