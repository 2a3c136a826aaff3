-- Calls that may hold the host for a copy: its own, and the wait inside the operator of PyTorch that copies.
-- uses: counted_copy
with
launched as (
    select c.slice_id as copy_id, l.slice_id, l.name, l.dur, l.kind, l.operator_id
    from counted_copy as c
    inner join cpu_slice as l on l.trace_id = c.trace_id and l.slice_id = c.launch_id
)

select copy_id, slice_id, name, dur
from launched
where kind = 'runtime'
union
select l.copy_id, w.slice_id, w.name, w.dur
from launched as l
inner join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
inner join cpu_slice as w on w.trace_id = $trace_id and w.operator_id = l.operator_id
where regexp_matches(o.name, '^aten::(copy_|_to_copy|to)(,|$)') and w.kind = 'runtime' and contains(w.name, 'Synchronize')
