-- Compute against the step, and what computes: kernels by family, as their names tell it.
-- uses: counted
-- remarks: yes
with
ledger as (
    select sum(dur) as total, coalesce(sum(dur) filter (category = 'compute'), 0) as compute
    from time_ledger
    inner join counted using (step)
    where trace_id = $trace_id and device = $device
),

family as (
    select
        family,
        count(*) as kernels,
        sum(exclusive_dur) as dur,
        sum(exclusive_dur * sm_coverage) as covered,
        sum(exclusive_dur) filter (sm_coverage is not null) as coverage_known,
        sum(exclusive_dur) filter (tensor_core) as tensor,
        sum(exclusive_dur) filter (tensor_core is not null) as tensor_known
    from kernel_occupancy
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and family <> 'communication'
    group by family
),

-- what reads its weights once however large the batch is
weights as (
    select coalesce(sum(gpu_dur), 0) as dur
    from operator_cost
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and kind = 'matmul' and bound = 'memory'
),

shared as (
    select
        *,
        sum(dur) over () as kernel_dur,
        sum(covered) over () / sum(coverage_known) over () as mean_coverage_share,
        sum(tensor) over () / sum(tensor_known) over () as tensor_core_share,
        sum(tensor_known) over () / sum(dur) over () as tensor_core_known_share
    from family
)

select
    l.compute / l.total as compute_share,
    (l.compute / (select count(*) from counted))::bigint as compute_ns,
    s.family,
    s.kernels,
    s.dur / s.kernel_dur as kernel_share,
    s.covered / s.coverage_known as coverage_share,
    s.mean_coverage_share,
    s.tensor_core_share,
    s.tensor_core_known_share,
    w.dur / s.kernel_dur as memory_bound_matmul_share
from ledger as l
cross join weights as w
left join shared as s on true
order by s.dur desc, s.family
