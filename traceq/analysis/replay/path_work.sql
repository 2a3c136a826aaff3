-- GPU slices, with the numbers of their names.
select g.slice_id, n.number
from gpu_slice as g
inner join _path_name as n using (name)
