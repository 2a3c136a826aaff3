-- What forwards keep for the backward, in a snapshot, at the time when most memory is in use.
-- title: Activations dominate the memory peak
-- finds: Activations that make up more than half of the memory in use at the peak of a memory snapshot.
-- matters: What a forward pass keeps for the backward pass grows with the batch, the sequence length and the number of layers;
--   the rest does not. It determines which batch size fits.
-- measured: Allocations that exist at the peak (allocation.at_peak) whose stack is in a forward pass and that were released
--   outside it (category activations), over memory_peak.bytes: at least 50 %. If the history has no backward pass, at least
--   half of them must have been released within it: otherwise they may be a cache.
-- try: Activation checkpointing of the layers that hold most, half precision; for inference: inference_mode, which keeps
--   nothing.
-- references: https://docs.pytorch.org/docs/stable/checkpoint.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
-- remark: {% if facts.held_share >= most %}{{ size(facts.held_bytes) }} of the {{ size(facts.peak_bytes) }} in use at the peak
--   ({{ percent(facts.held_share) }}) are activations, in {{ facts.allocations }} allocations; {{ cut(facts.owner) }} holds
--   most of them, {{ size(facts.owner_bytes) }}.
--   {%- endif %}
-- fix: {% if facts.trains %}Checkpoint the layers that hold most: `torch.utils.checkpoint.checkpoint(layer, x,
--   use_reentrant=False)` keeps only their input and computes the rest again in the backward. {%- else %}Run it under
--   `torch.inference_mode()`, which keeps no activations, if the model is not trained: the history has no backward. If
--   it is trained, checkpoint the layers that hold most: `torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)`. {%- endif %}
-- for: pytorch
-- needs: allocations
-- unknown: {% if facts.unknown_share > 0.5 %}for {{ percent(facts.unknown_share) }} of the memory in use at the peak, the
--   stacks do not show what it is {%- elif facts.held_share >= most and not facts.trains and facts.released_share < most %}what
--   forward passes keep at the peak was not released, and the history has no backward: it may be a cache that is meant to stay
--   {%- endif %}
-- threshold: most = 0.5: by definition: the larger part
-- remarks: yes
-- uses: peak_memory
select
    p.*,
    coalesce((select held_share from peak_memory where category = 'unknown'), 0) as unknown_share,
    exists (from allocation_stack where trace_id = $trace_id and phase in ('backward', 'optimizer')) as trains,
    (
        select coalesce(sum(requested_bytes) filter (event_end is not null) / sum(requested_bytes), 0)
        from allocation as a
        where a.trace_id = $trace_id and a.device = p.device and a.at_peak and a.category = 'activations'
    ) as released_share
from (
    from peak_memory
    union all by name
    select 'activations' as category, 0::bigint as held_bytes, 0.0 as held_share
) as p
where p.category = 'activations'
order by p.held_bytes desc
limit 1
