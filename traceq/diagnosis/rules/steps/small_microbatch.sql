-- Backward passes per optimizer step, and what the GPU waits for between their small kernels.
-- uses: counted, launch_bound, memory_use
-- remarks: yes
with
launched as (
    select g.step, q.phase, c.ts, g.slice_id
    from gpu_slice as g
    inner join counted using (step)
    inner join launch_state as q on q.trace_id = g.trace_id and q.slice_id = g.slice_id
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.device = $device and q.phase in ('forward', 'backward', 'optimizer')
),

turn as (
    select step, phase, lag(phase) over (order by ts, slice_id) as before
    from launched
),

passes as (
    select
        count(*) filter (phase = 'backward' and before = 'forward') as micro_batches,
        count(*) filter (phase = 'optimizer' and before is distinct from 'optimizer') as updates
    from turn
),

kernel as (
    select count(*) as kernels, median(dur) as dur
    from gpu_slice
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and kind = 'kernel' and not is_communication
),

pipeline as (
    select count(*) as transfers
    from collective_slice
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and op in ('send', 'recv', 'send_recv')
)

select
    p.micro_batches / nullif(p.updates, 0) as micro_batches_per_update,
    w.dur / s.total as launch_bound_share,
    k.kernels / s.steps / (p.micro_batches / s.steps) as kernels_per_micro_batch,
    k.dur as median_kernel_ns,
    t.transfers as pipeline_transfers,
    if(m.is_total, m.used, null) as peak_bytes,
    m.capacity as capacity_bytes,
    if(m.is_total, m.used / m.capacity, null) as memory_share
from passes as p
cross join launch_bound as w
cross join kernel as k
cross join pipeline as t
cross join memory_use as m
inner join step_stats as s on s.trace_id = $trace_id
