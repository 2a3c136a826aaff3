-- Kernels of the device by how their blocks fill warps and multiprocessors.
-- uses: busy
select
    k.threads_per_block % coalesce(any_value(m.warp_size), 32) <> 0 as odd_threads,
    any_value(m.sm_count) as sm_count,
    max(k.blocks) as most_blocks,
    k.theoretical_occupancy as occupancy,
    k.limiter,
    max(b.dur) as longest_ns
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
left join device_model as m on m.trace_id = $trace_id and m.device = $device
where b.category = 'compute'
group by k.threads_per_block, k.theoretical_occupancy, k.limiter
