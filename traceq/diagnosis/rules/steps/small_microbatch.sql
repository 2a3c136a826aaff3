-- Backward passes per optimizer step, and what the GPU waits for between their small kernels.
-- title: Gradient accumulation over micro-batches that are too small
-- finds: Several forward and backward passes per optimizer step, while the host cannot launch their small kernels as
--   fast as the GPU runs them.
-- matters: Each micro-batch launches the same kernels again. If launching is the limit, half as many micro-batches of twice the
--   size do the same work with half the launches.
-- measured: Turns from forward to backward per optimizer step, in the order of launches (launch_state.phase): at least 2.
--   Pieces of idle_launch and idle_python shorter than 1 ms (longer ones are something other than launching) take at least 15 %
--   of the counted steps, the limit of XProf's advice on launching. Peak memory (memory_step) is below 70 % of the GPU's, so a
--   micro-batch one and a half times as large fits; the remark says if memory is not known. Pipelines (sends and receives) are
--   left out, because they need their micro-batches.
-- try: Double the micro-batch and halve the accumulation steps, until memory is full or the kernels fill the GPU.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
-- remark: {% if not facts.pipeline_transfers and facts.launch_bound_share >= launch_bound %}{{
--   number(facts.micro_batches_per_update) }} micro-batches per optimizer step, each of about {{
--   '{:,.0f}'.format(facts.kernels_per_micro_batch) }} kernels with a median of {{ time(facts.median_kernel_ns) }}; the GPU
--   waits for their launches for {{ percent(facts.launch_bound_share) }} of the step. {% if facts.memory_share is none %}Memory
--   use is not in the trace{% if way('allocator') %} ({{ way('allocator') }} records it){% endif %}. {%- else %}Peak memory is
--   {{ percent(facts.memory_share) }} of {{ bytes_in('GiB', facts.capacity_bytes, 0) }} GiB. {%- endif %} {%- endif %}
-- fix: Double the micro-batch and halve the accumulation: `DataLoader(..., batch_size=2 * batch_size)`. The batch per
--   optimizer step, and with it the learning rate, stays the same with `accumulation_steps = {{ [1, (facts.micro_batches_per_update / 2) | round |
--   int] | max }}`.{% if facts.memory_share is none %} Look at torch.cuda.max_memory_allocated() first.{% endif %}
-- for: pytorch, training
-- needs: gpu, steps, phases, launches
-- captures: host_only, steps, window
-- absent: {% if facts.micro_batches_per_update is none or facts.micro_batches_per_update < 2 %}one forward and backward pass
--   per optimizer step, or no optimizer step in the trace {%- elif not facts.pipeline_transfers and facts.launch_bound_share >=
--   launch_bound and facts.memory_share is not none and facts.memory_share >= 0.7 %}{{ percent(facts.memory_share) }} of the
--   memory is in use: larger micro-batches do not fit {%- endif %}
-- threshold: launch_bound = 0.15: where XProf's advice on launching begins
-- remarks: yes
-- uses: counted, training_pass, launch_bound, memory_use
with
passes as (
    select
        count(*) filter (is_turn) as micro_batches,
        count(*) filter (phase = 'optimizer' and before is distinct from 'optimizer') as updates
    from training_pass
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
