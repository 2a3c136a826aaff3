-- Compute against the step, and what computes: kernels by family, as their names show it.
-- title: The GPU is saturated: a larger batch does not raise throughput
-- finds: Steps in which the GPU computes nearly all the time, with kernels that have work for nearly the whole GPU.
-- matters: There is no waiting left to remove. A larger batch takes proportionally longer, so samples per second stay the same;
--   only less work, cheaper arithmetic or better kernels make a step faster.
-- measured: Compute is at least 90 % of the counted steps of the critical device (time_ledger), without time for work that was
--   launched before the capture: the rest is less than most changes of the batch size would affect. Kernels give a block to at
--   least 80 % of the multiprocessors, by time (kernel_occupancy.sm_coverage; below that, a larger batch fills the rest at no
--   cost), and memory-bound matrix multiplications (operator_cost.bound) take less than half of their time, because those read
--   the same weights for a larger batch. The remark says if one of the last two is not known.
-- try: Lower precision where kernels do not use tensor cores, fusion where elementwise kernels take the time, otherwise better
--   kernels for the family that takes most of the time. For latency: smaller batches, or layers split over GPUs.
-- references: https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- remark: {% if facts.compute_share >= saturated %}The GPU computes {{ percent(facts.compute_share) }} of the {% if
--   subject.is_window %}captured time{% else %}step{% endif %} ({{ time(facts.compute_ns) }}). {% if facts.mean_coverage_share
--   is none %}How well its kernels fill it is not known. {%- else %}Its kernels use {{ percent(facts.mean_coverage_share) }} of
--   the multiprocessors. {%- endif %} {% if subject.goal == 'latency' %}Only less work makes the step shorter: {% if
--   program.runs_model %}a smaller batch, cheaper arithmetic, or more GPUs per layer{% else %}a smaller problem, cheaper
--   arithmetic, or more GPUs{% endif %}. {%- else %}A larger {{ 'batch' if program.runs_model else 'problem' }} would take
--   roughly proportionally longer {%- if program.runs_model %} and hardly raise the samples per second{% endif %}. {%- endif %}
--   {%- endif %}
-- fix: {% set tensor = facts.tensor_core_share -%} {% set few = tensor is not none and tensor < 0.3 and
--   (facts.tensor_core_known_share or 0) >= 0.5 -%} {% set fusible = rows | selectattr('family', 'in', ['elementwise', 'norm',
--   'reduce', 'softmax', 'optimizer', 'copy']) | selectattr('kernel_share') | sum(attribute='kernel_share') -%} {% set profiler
--   = program.words.profiler -%} {% if few %}Only {{ percent(tensor) }} of the kernel time whose kind is known is on tensor
--   cores. {{ remedy('half_products') }} {%- endif %} {%- if fusible >= 0.3 %} Elementwise, normalization, reduction and copy
--   kernels take {{ percent(fusible) }} of the kernel time. {{ remedy('fuse') }} {%- endif %} {%- if not few and fusible < 0.3
--   %} {%- if facts.family in (none, 'unknown') %}Look at the longest kernels first, with {{ profiler }}. {%- else %}Kernels of
--   the family {{ facts.family }} take {{ percent(facts.kernel_share or 0) }} of the kernel time: start there, and use {{
--   profiler }} on the longest of them. {%- endif %} {%- endif %}{% if subject.goal == 'latency' and program.runs_model %} Then
--   try a smaller batch, or tensor parallelism.{% endif %}
-- absent: {% if rows and facts.compute_share >= saturated %} {%- if facts.mean_coverage_share is not none and
--   facts.mean_coverage_share < 0.8 %}the GPU is busy, but its kernels use only {{ percent(facts.mean_coverage_share) }} of it:
--   a larger {{ 'batch' if program.runs_model else 'problem' }} would fill the rest {%- elif (facts.memory_bound_matmul_share
--   or 0) >= 0.5 %}the GPU is busy, mostly with matrix multiplications that {{ 'become cheaper per sample with a larger batch'
--   if program.runs_model else 'become cheaper with more columns at a time' }} {%- endif %} {%- endif %}
-- threshold: saturated = 0.9: what remains is less than most changes of the batch size move
-- remarks: yes
-- uses: counted
with
ledger as (
    -- what was launched before the capture is not in it: how much of that time is computing is not known
    select sum(dur) filter (category <> 'idle_earlier_work') as total, coalesce(sum(dur) filter (category = 'compute'), 0) as compute
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
    s.mean_coverage_share, s.tensor_core_share, s.tensor_core_known_share,
    w.dur / s.kernel_dur as memory_bound_matmul_share
from ledger as l
cross join weights as w
left join shared as s on true
order by s.dur desc, s.family
