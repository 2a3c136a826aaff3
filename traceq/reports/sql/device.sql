-- Every GPU the trace lists or uses, with the number of its slices (0 when it was listed only).
select device, d.name, d.compute_capability, coalesce(g.slices, 0) as slices
from (
    select device, coalesce(name, model) as name, compute_capability from device_model where trace_id = $trace_id
) as d
full join (select device, count(*) as slices from gpu_slice where trace_id = $trace_id group by device) as g using (device)
order by device
