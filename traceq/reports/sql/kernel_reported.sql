-- Kernels of the counted steps with a report of a kernel profiler, by name and launch geometry over all devices, most time first.
select
    name, grid_x, grid_y, grid_z, block_x, block_y, block_z, tool, file, matched_by, launches,
    sum(kernels)::bigint as kernels,
    sum(dur)::bigint as dur_ns,
    compute_throughput as compute_share,
    memory_throughput as memory_share,
    dram_throughput as dram_share,
    achieved_occupancy as occupancy_share,
    theoretical_occupancy as occupancy_limit_share,
    limiter, stall, stall_share, next_stall, next_stall_share
from kernel_reported
where trace_id = $trace_id
group by all
order by dur_ns desc, name, grid_x, grid_y, grid_z, block_x, block_y, block_z
limit $top
