-- The GPUs of a trace that describes them, by the names that Kineto gives their limits.
select
    device as id,
    name,
    memory_bytes as "totalGlobalMem",
    try_cast(split_part(compute_capability, '.', 1) as integer) as "computeMajor",
    try_cast(split_part(compute_capability, '.', 2) as integer) as "computeMinor",
    max_threads_per_sm as "maxThreadsPerMultiprocessor",
    registers_per_sm as "regsPerMultiprocessor",
    warp_size as "warpSize",
    shared_memory_per_sm as "sharedMemPerMultiprocessor",
    sm_count as "numSms"
from device
where trace_id = $trace_id and source = 'trace'
order by device
