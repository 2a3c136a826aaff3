-- Host slices of a range, with the numbers of their names and the operators around them; NULL is -1.
-- reads: _path_name
select c.slice_id, n.number, coalesce(c.operator_id, -1) as operator_id, c.kind = 'op' as is_operator
from cpu_slice as c
inner join _path_name as n using (name)
where c.slice_id between $first and $last
