-- How many kernels have an estimated occupancy, on how many devices the limits for it are known, and how long
-- kernels run.
with
limited as (
    select count(*) as devices
    from device_model
    where
        trace_id = $trace_id
        and device in (select device from gpu_slice where trace_id = $trace_id)
        and compute_capability is not null
        and sm_count is not null
        and max_threads_per_sm is not null
        and max_blocks_per_sm is not null
        and registers_per_sm is not null
        and shared_memory_per_sm is not null
)

select
    count(estimated_occupancy) as kernels_estimated,
    coalesce(sum(exclusive_dur), 0)::bigint as kernel_dur,
    (select devices from limited) as devices_with_limits
from kernel_occupancy
where trace_id = $trace_id
