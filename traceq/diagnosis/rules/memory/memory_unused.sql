-- How much of the GPU's memory the counted steps use at most, and how little of the GPU.
with
counted as (
    select step
    from step
    where trace_id = $trace_id and excluded is null
),

memory as (
    select
        max(peak) as peak,
        max(greatest(peak, coalesce(reserved, 0))) as used,
        min(coalesce(allocated_start, allocated_end)) as stays,
        any_value(capacity) as capacity,
        bool_and(is_total) as is_total
    from memory_step
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and memory = 'device'
),

waiting as (
    select coalesce(sum(dur), 0) as dur
    from idle_piece
    where
        trace_id = $trace_id
        and device = $device
        and cause in ('idle_launch', 'idle_python')
        and dur < $micro_ns
),

ledger as (
    select coalesce(sum(dur) filter (category = 'compute'), 0) as compute, sum(dur) as total
    from time_ledger
    inner join counted using (step)
    where trace_id = $trace_id and device = $device
),

fill as (
    select sum(exclusive_dur * sm_coverage) / sum(exclusive_dur) filter (sm_coverage is not null) as coverage
    from kernel_occupancy
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and family <> 'communication'
)

select
    m.is_total,
    m.used as used_bytes,
    m.capacity as capacity_bytes,
    m.used / m.capacity as used_share,
    m.peak as peak_bytes,
    m.stays as stays_bytes,
    w.dur / l.total as launch_bound_share,
    l.compute / l.total as compute_share,
    f.coverage as coverage_share
from memory as m
cross join waiting as w
cross join ledger as l
cross join fill as f
