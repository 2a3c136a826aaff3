-- The step in which most of the GPU's memory is in use.
-- title: GPU memory is nearly full
-- finds: Steps in which more than 90 % of the GPU's memory is in use, and whether tensors use it or the allocator's cache.
-- matters: A slightly larger batch or a longer sequence then fails, and the allocator returns cached blocks and asks for new
--   ones, which stops the GPU. The context, NCCL and other processes need memory that no sample shows.
-- measured: The highest peak of the counted steps, and what was reserved then, over the capacity (memory_step). The limit is 90
--   %, at which PyTorch's own tools warn. If the source records changes rather than totals, the true peak can only be higher.
-- try: Activation checkpointing, sharded optimizer states (ZeRO, FSDP), lower precision, a smaller batch; if only the
--   allocator's cache is large, expandable segments.
-- references: https://docs.pytorch.org/docs/stable/checkpoint.html
--   https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
-- remark: {% set of = 'of ' ~ bytes_in('GiB', facts.capacity_bytes, 1) ~ ' GiB' -%} {% if facts.peak_share >= nearly_full
--   %}Tensors use {{ bytes_in('GiB', facts.peak_bytes, 1) }} GiB {{ of }} ({{ percent(facts.peak_share) }}) in step {{
--   facts.step }}. {%- elif facts.used_share >= nearly_full %}{{ "PyTorch's" if program.may_be_pytorch else 'The' }} allocator
--   holds {{ bytes_in('GiB', facts.reserved_bytes, 1) }} GiB {{ of }} ({{ percent(facts.used_share) }}), though tensors need {{
--   bytes_in('GiB', facts.peak_bytes, 1) }} GiB at most. {{ program.words.nccl }} and other processes get only the rest. {%-
--   endif %}
-- fix: {% if facts.peak_share >= nearly_full %}{{ remedy('full_memory') }} {%- if program.is_pytorch and 'training' in
--   program.workloads and not program.has('half_precision') %} bfloat16 halves activations: torch.autocast. {%- endif %} {%- if
--   program.is_pytorch and program.trains and not program.uses('FSDP', 'DeepSpeed', 'Megatron') and subject.world_size and
--   subject.world_size > 1 %} With {{ subject.world_size }} ranks, shard parameters and optimizer states: {% if
--   program.can_compile %}fully_shard(model), or {% endif %}ZeroRedundancyOptimizer. {%- endif %} {%- else %}{% if not
--   program.has('expandable_segments') %}{{ remedy('expandable') }} {% endif %}{% if program.runs_model %}Use batches of one
--   shape, or the largest first. A larger batch still fits. {%- else %}Reuse the same sizes, the largest first. {%- endif %}
--   {%- endif %}
-- heading: {% if facts.peak_share < nearly_full %}GPU memory is nearly full of cached blocks{% endif %}
-- key: {% if facts.peak_share < nearly_full %}reserved{% endif %}
-- needs: gpu, steps, memory_samples
-- unknown: {% if not rows %}the counted steps have no samples of device memory {%- elif facts.used_share is none %}the trace
--   does not say how much memory the GPU has {%- endif %}
-- threshold: nearly_full = 0.9: where PyTorch's own tools warn; fragmentation takes about a tenth of what is reserved
-- remarks: yes
-- uses: counted
select
    m.step, m.peak as peak_bytes, m.reserved as reserved_bytes, m.capacity as capacity_bytes,
    m.peak / m.capacity as peak_share,
    greatest(m.peak, coalesce(m.reserved, 0)) / m.capacity as used_share,
    m.allocated_start as at_start_bytes
from memory_step as m
inner join counted using (step)
where
    m.trace_id = $trace_id
    and m.device = $device
    and m.memory = 'device'
order by peak_share desc nulls last, used_share desc, m.step
limit 1
