-- Copies of the critical device in counted steps, with the call that asked for each.
-- uses: counted
select c.*, g.ts, g.name, g.launch_id, g.stream, g.src_device, g.dst_device
from copy_overlap as c
inner join gpu_slice as g using (trace_id, slice_id)
inner join counted on counted.step = c.step
where c.trace_id = $trace_id and c.device = $device
