-- How much of the GPU's memory the counted steps use at most, and how little of the GPU.
-- title: GPU memory is mostly free and the GPU is not filled
-- finds: Steps that leave more than half of the GPU's memory unused while the GPU waits for launches or runs kernels
--   too small for it.
-- matters: A larger batch costs memory. If memory is free and kernels are small or launched late, more samples per step cost
--   little extra time.
-- measured: The highest peak, or what was reserved, is below 50 % of the capacity (memory_step, totals only: sums since the
--   capture began miss what was allocated before). Pieces of idle_launch and idle_python below 1 ms take at least 15 % of the
--   counted steps, or kernels give work to less than half of the multiprocessors (kernel_occupancy.sm_coverage, by time). How
--   much the batch could grow: what a step allocates grows with it, what exists at its start does not; up to 80 % of the
--   memory. With --goal latency the rule does not apply, because a larger batch makes no step faster.
-- try: A larger batch, with the learning rate to match; or spend the memory in other ways: no activation checkpointing, no
--   offloading.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
-- remark: {% set in_step = facts.peak_bytes - facts.stays_bytes -%} {% set times = (fill_to * facts.capacity_bytes -
--   facts.stays_bytes) / [in_step, 1] | max -%} {% set sparse = facts.coverage_share is not none and facts.coverage_share < 0.5
--   -%} {% if facts.used_share < 0.5 and (sparse or facts.launch_bound_share >= 0.15) %}{{ bytes_in('GiB', facts.used_bytes, 2)
--   }} of {{ bytes_in('GiB', facts.capacity_bytes, 0) }} GiB are in use at the peak ({{ percent(facts.used_share) }}), and {%
--   if sparse %}kernels use only {{ percent(facts.coverage_share) }} of the multiprocessors {%- else %}the GPU waits {{
--   percent(facts.launch_bound_share) }} of the step for launches {%- endif %}: {{ 'more samples per step' if
--   program.runs_model else 'more work at a time' }} would cost little extra time. {%- if in_step > 0 %} What a step allocates
--   ({{ bytes_in('GiB', in_step, 2) }} GiB) would fit {% if times > most_times %}at least{% else %}about{% endif %} {{
--   '{:,.0f}'.format([times, most_times] | min) }} times. {%- endif %} {%- endif %}
-- fix: {{ remedy('unused_memory') }}{% if program.is_pytorch and 'training' in program.workloads %} {{ remedy('rescale_learning') }}{% endif %}
-- needs: gpu, steps, memory_samples
-- unknown: {% if not facts.is_total %}{{ lacks('only changes of memory are known, not totals', 'allocator_totals', 'brings them') }}
--   {%- elif facts.used_share is none %}the trace does not say how much memory the GPU has
--   {%- endif %}
-- absent: {% if subject.goal == 'latency' and facts.used_share < 0.5 and ((facts.coverage_share is not none and
--   facts.coverage_share < 0.5) or facts.launch_bound_share >= 0.15) %}memory is free, but more work at a time makes no
--   step faster (--goal latency)
--   {%- endif %}
-- threshold: fill_to = 0.8: leaves a fifth for fragmentation and for what varies from step to step
-- threshold: most_times = 8: beyond three doublings a trace says nothing of how the program would behave
-- remarks: yes
-- uses: counted, launch_bound, memory_use
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
    m.is_total, m.used as used_bytes, m.capacity as capacity_bytes,
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
