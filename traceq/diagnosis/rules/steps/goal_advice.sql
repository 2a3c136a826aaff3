-- What of the step the knobs of a training program act on: shares of the counted steps on the critical device.
-- uses: counted, launch_bound, memory_use
-- remarks: yes
-- threshold: worth = 0.1: of the step: less is not worth a change of the program
-- threshold: much_arithmetic = 0.2: of the step on wide types: half of it is won at best, the tenth that is worth a change
-- threshold: much_half = 0.3: of the step at the limit of 16 bits: FP8 wins half of it at best, and accuracy has to be checked
-- threshold: much_fusible = 0.3: of the step: fusing wins a third of it or so, the tenth that is worth a change
-- threshold: waits_first = 0.3: of the step in waits: what then moves the rest moves little
-- threshold: compute_bound = 0.8: of the step in compute: splitting layers shortens it by a good part, and adds communication
-- threshold: saturated = 0.9: of the step in compute: what is left, a tenth, is all that a larger batch can fill
-- threshold: filled = 0.8: of the multiprocessors have a block, by time: the last wave of a grid leaves some of them empty as a rule
-- threshold: sparse = 0.5: of the multiprocessors: with less a batch twice as large takes no longer
-- threshold: memory_free = 0.6: of the GPU's memory: what a batch half as large again still fits into
-- threshold: memory_taken = 0.85: of the GPU's memory: from there on a larger batch, or a longer sequence, soon fails
-- threshold: least_knobs = 2: with one there is nothing to choose
-- threshold: enough_alone = 0.3: of the step: one knob about so much is worth a remark by itself
-- threshold: most_times = 8: where next to nothing is computed the ratio has no end; more than three doublings are another training
with
ledger as (
    select
        sum(dur) as total,
        coalesce(sum(dur) filter (category = 'compute'), 0) as compute,
        coalesce(sum(dur) filter (category = 'communication'), 0) as communication,
        coalesce(sum(dur) filter (
            category in ('idle_data', 'idle_checkpoint', 'idle_compile', 'idle_allocation', 'idle_sync', 'idle_os', 'copy_h2d')
        ), 0) as waits
    from time_ledger
    inner join counted using (step)
    where trace_id = $trace_id and device = $device
),

wait as (
    select category, sum(dur) as dur
    from time_ledger
    inner join counted using (step)
    where
        trace_id = $trace_id
        and device = $device
        and category in ('idle_data', 'idle_checkpoint', 'idle_compile', 'idle_allocation', 'idle_sync', 'idle_os', 'copy_h2d')
    group by category
),

kernel as (
    select
        sum(exclusive_dur) as dur,
        sum(exclusive_dur * sm_coverage) / sum(exclusive_dur) filter (sm_coverage is not null) as coverage,
        coalesce(sum(exclusive_dur) filter (family in ('elementwise', 'norm', 'reduce', 'softmax', 'optimizer', 'copy')), 0)
            as fusible
    from kernel_occupancy
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and family <> 'communication'
),

arithmetic as (
    select
        coalesce(sum(gpu_dur) filter (coalesce(compute_type, dtype) = 'fp32'), 0) as fp32,
        coalesce(sum(gpu_dur) filter (compute_type = 'tf32'), 0) as tf32,
        coalesce(sum(gpu_dur) filter (compute_type in ('bf16', 'fp16') and bound = 'compute'), 0) as half
    from operator_cost
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and kind in ('matmul', 'convolution', 'attention')
),

collective_phase as (
    select c.op, coalesce(c.group_name, '') as group_name, c.group_size, q.phase, c.exposed
    from collective_slice as c
    inner join counted using (step)
    left join launch_state as q on q.trace_id = c.trace_id and q.slice_id = c.slice_id
    where c.trace_id = $trace_id and c.device = $device
),

-- Reductions within the forward pass are partial results of layers that are split; gradients are reduced in the backward pass.
habit as (
    select
        group_name,
        count(*) filter (op in ('all_reduce', 'reduce_scatter') and phase = 'forward') as reduced_forward,
        count(*) filter (op = 'all_gather' and phase = 'forward') as gathered_forward,
        count(*) filter (op = 'reduce_scatter' and phase = 'backward') as scattered_backward
    from collective_phase
    group by group_name
),

role as (
    select
        case
            when op in ('send', 'recv', 'send_recv') then 'pipeline'
            when op = 'all_to_all' then 'all_to_all'
            when h.reduced_forward >= 2 * (select count(*) from counted) and (h.group_name <> '' or c.phase = 'forward') then 'tensor'
            when h.reduced_forward >= 2 * (select count(*) from counted) then 'other'
            when h.gathered_forward > 0 and h.scattered_backward > 0 then 'sharded'
            when c.op in ('all_reduce', 'reduce_scatter') and c.phase = 'backward' then 'gradient'
            else 'other'
        end as role, c.op, c.group_size, c.exposed
    from collective_phase as c
    inner join habit as h using (group_name)
),

exposed as (
    select
        coalesce(sum(exposed) filter (role = 'pipeline'), 0) as pipeline,
        coalesce(sum(exposed) filter (role = 'all_to_all'), 0) as all_to_all,
        coalesce(sum(exposed) filter (role = 'tensor'), 0) as tensor,
        coalesce(sum(exposed) filter (role = 'sharded'), 0) as sharded,
        coalesce(sum(exposed) filter (role = 'gradient'), 0) as gradient,
        coalesce(sum(exposed) filter (role = 'other'), 0) as other,
        max(group_size) filter (role = 'tensor') as tensor_group,
        max(group_size) filter (role = 'other') as other_group,
        count(*) filter (role = 'other') as other_count
    from role
),

recompute as (
    select count(*) as calls
    from cpu_slice
    where trace_id = $trace_id and kind = 'op' and starts_with(name, 'CheckpointFunction')
)

select
    (l.total / s.steps)::bigint as step_ns,
    (l.compute / s.steps)::bigint as compute_ns,
    l.compute / l.total as compute_share,
    l.waits / l.total as waits_share,
    (select min_by(category, {'dur': -dur, 'category': category}) from wait) as longest_wait,
    a.dur / l.total as launch_bound_share,
    k.coverage as coverage_share,
    k.fusible / l.total as fusible_share,
    o.fp32 / l.total as fp32_share,
    o.tf32 / l.total as tf32_share,
    o.half / l.total as half_precision_share,
    d.fp8 is not null and d.fp8 > d.bf16 as has_fp8,
    l.communication / l.total as communication_share,
    least(x.gradient, l.communication) / l.total as gradient_share,
    least(x.sharded, l.communication) / l.total as sharded_share,
    least(x.tensor, l.communication) / l.total as tensor_share,
    x.tensor_group,
    least(x.pipeline, l.communication) / l.total as pipeline_share,
    least(x.all_to_all, l.communication) / l.total as all_to_all_share,
    least(x.other, l.communication) / l.total as other_communication_share,
    x.other_group,
    x.other_count / s.steps as other_collectives_per_step,
    if(m.is_total, m.used, null) / m.capacity as memory_share,
    m.capacity as capacity_bytes,
    r.calls > 0 as recomputes
from ledger as l
cross join launch_bound as a
cross join kernel as k
cross join arithmetic as o
cross join exposed as x
cross join memory_use as m
cross join recompute as r
inner join step_stats as s on s.trace_id = $trace_id
left join device_model as d on d.trace_id = $trace_id and d.device = $device
