-- What reports of a kernel profiler say of the kernels of a family or name on the device, in counted steps: how much of their time the
-- reports are about, the means of their shares of limits over that time, and what the longest of these waits for.
with
part as (
    select g.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z, sum(k.exclusive_dur) as dur
    from kernel_occupancy as k
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join step as s on s.trace_id = k.trace_id and s.step = k.step
    where
        k.trace_id = $trace_id and k.device = $device and s.excluded is null
        and k.family <> 'communication' and (k.family = $part or g.name = $part)
    group by all
)

select
    min(r.tool) as tool,
    sum(r.dur) / any_value(w.dur) as covered_share,
    sum(r.memory_throughput * r.dur) / sum(r.dur) filter (r.memory_throughput is not null) as memory_share,
    sum(r.compute_throughput * r.dur) / sum(r.dur) filter (r.compute_throughput is not null) as compute_share,
    count(r.memory_throughput) = count(*) and count(r.compute_throughput) = count(*) as is_whole,
    arg_max(r.stall, r.dur) as stall,
    arg_max(r.stall_share, r.dur) as stall_share
from kernel_reported as r
inner join part as p
    on
        p.name = r.name
        and p.grid_x is not distinct from r.grid_x and p.grid_y is not distinct from r.grid_y
        and p.grid_z is not distinct from r.grid_z and p.block_x is not distinct from r.block_x
        and p.block_y is not distinct from r.block_y and p.block_z is not distinct from r.block_z
cross join (select sum(dur) as dur from part) as w
where r.trace_id = $trace_id and r.device = $device
having count(*) > 0
