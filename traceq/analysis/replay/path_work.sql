-- GPU slices of a range, with the numbers of their names.
select g.slice_id, n.number
from gpu_slice as g
inner join _path_name as n using (name)
where g.slice_id between $first and $last
