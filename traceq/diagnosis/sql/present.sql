-- What a trace holds that rules stand on: how many of each.
with
-- Names are few and slices many: names are looked at once each.
named as (
    select
        kind,
        count(*) as slices,
        regexp_matches(name, '^(cuda|cu|hip)\w*Launch') as launches,
        regexp_matches(name, '^(nccl:|aten::(record_stream|cudnn_|miopen_|_cudnn_))') as needs_gpu
    from cpu_slice
    where trace_id = $trace_id
    group by kind, name
),

host as (
    select
        coalesce(sum(slices) filter (kind = 'runtime'), 0)::bigint as calls,
        coalesce(sum(slices) filter (kind = 'op'), 0)::bigint as operators,
        coalesce(sum(slices) filter (kind = 'annotation'), 0)::bigint as annotations,
        coalesce(sum(slices) filter (kind = 'os'), 0)::bigint as os_calls,
        coalesce(sum(slices) filter (kind = 'python'), 0)::bigint as python_frames,
        -- whether nothing says that a GPU works whose work was not captured
        (count(*) filter (kind = 'runtime' and launches or kind in ('op', 'annotation') and needs_gpu) = 0)::integer as host_alone
    from named
),

gpu as (
    select
        count(*) as gpu_slices,
        count(launch_id) as launches,
        count(*) filter (kind = 'kernel') as kernels,
        count(*) filter (kind = 'kernel' and grid_x is not null) as kernel_geometry,
        count(*) filter (kind = 'memset') as memsets,
        count(*) filter (kind = 'kernel' and starts_with(name, '__amd_rocclr_copy')) as copies_as_kernels,
        count(*) filter (kind = 'kernel' and starts_with(name, '__amd_rocclr_fill')) as memsets_as_kernels
    from gpu_slice
    where trace_id = $trace_id and device = $device
),

copies as (
    select
        count(*) as copies,
        count(is_pageable) as copy_memory,
        count(*) filter (copy_kind = 'um') as migrations,
        count(*) filter (copy_kind is distinct from 'um') as copies_asked_for
    from copy_overlap
    where trace_id = $trace_id and device = $device
),

communication as (
    select count(*) as communication, count(bytes) as message_sizes, count(bus_bandwidth) as bus_bandwidth
    from collective_slice
    where trace_id = $trace_id and device = $device
),

occupancy as (
    select count(theoretical_occupancy) as occupancy
    from kernel_occupancy
    where trace_id = $trace_id and device = $device
),

-- of monitors only what they said while the trace was captured
monitored as (
    select
        count(*) filter (c.device = $device and c.name = 'gpu_sm_clock') as gpu_clocks,
        count(*) filter (c.device = $device and (starts_with(c.name, 'gpu_throttle_') or c.name = 'gpu_thermal_violation')) as throttle_reasons,
        count(*) filter (c.name = 'disk_utilization') as disk_samples,
        count(*) filter (c.name in ('run_queue', 'cpu_steal')) as cpu_samples_logged,
        count(*) filter (c.name = 'cpu_steal') as steal,
        count(*) filter (c.name = 'swap_in') as swap_samples
    from monitor_sample as c
    inner join trace as t using (trace_id)
    where c.trace_id = $trace_id and c.ts < t.ts + t.dur and c.ts_end > t.ts
),

operators as (
    select count(*) as shapes, count(flops) as flops, count(peak) filter (flops > 0) as peaks
    from operator_cost
    where trace_id = $trace_id
),

-- work of devices that is in the trace and is not measured
unmeasured as (
    select count(*) as unmeasured
    from import_note
    where trace_id = $trace_id and regexp_matches(code, '_not_measured$')
)

select
    host.* replace (
        greatest(host_alone * (unmeasured.unmeasured = 0)::integer, (gpu.gpu_slices > 0)::integer) as host_alone
    ),
    gpu.*, copies.*, communication.*, occupancy.*, operators.*, monitored.*,
    (select count(*) from counter where trace_id = $trace_id and log_id is not null and name = 'cpu_count') as cpu_count,
    exists (
        select 1 from cpu_slice where trace_id = $trace_id and kind = 'op' and contains(args, '"Input type"')
    )::integer as types,
    (select count(*) from device where trace_id = $trace_id) as gpus,
    (select count(*) from thread_state where trace_id = $trace_id)
    + (select count(*) from cpu_sample where trace_id = $trace_id) as scheduling,
    unmeasured.*,
    -- work that starts before the call that launched it: clocks of host and GPU that differ
    (
        select count(*)
        from gpu_slice as g
        inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
        where g.trace_id = $trace_id and g.ts < c.ts
    ) as early_slices,
    (select count(*) from synchronization where trace_id = $trace_id) as synchronizations,
    (select count(*) from data_fetch where trace_id = $trace_id and is_training) as fetches,
    (select count(*) from host_ledger where trace_id = $trace_id and phase <> 'other' and category <> 'data') as phases,
    (select count(*) from memory_step where trace_id = $trace_id and device = $device) as memory_samples,
    (select count(*) from memory_peak where trace_id = $trace_id) as allocations
from host, gpu, copies, communication, occupancy, operators, monitored, unmeasured
