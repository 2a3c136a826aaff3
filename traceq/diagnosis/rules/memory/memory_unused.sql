-- How much of the GPU's memory the counted steps use at most, and how little of the GPU.
-- uses: counted, launch_bound, memory_use
-- remarks: yes
with
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
from memory_use as m
cross join launch_bound as w
cross join ledger as l
cross join fill as f
