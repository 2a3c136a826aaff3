-- GPU slices of a range, with the numbers of their names, and of the operators that a capture of their graph tells; NULL is -1.
-- reads: _path_name, graph_kernel
select g.slice_id, n.number, coalesce(o.number, -1) as operator
from gpu_slice as g
inner join _path_name as n using (name)
left join graph_kernel as k using (slice_id)
left join _path_name as o on o.name = k.operator
where g.slice_id between $first and $last
