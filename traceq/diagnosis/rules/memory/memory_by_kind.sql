-- Kinds of memory at the peak of a snapshot, and what each lever on them takes away at most: `saved_bytes` if all of the kind is of the sort
-- that the lever is for (32 bits, of every sample), nothing else changes and the peak stays where it is.
-- title: What memory is used for, and how to reduce it
-- finds: Memory snapshots of training in which at least two of parameters, gradients, optimizer states, activations and input
--   each hold a tenth of the peak: how much a smaller batch, fewer bits and sharding would save of each.
-- matters: Each remedy affects one kind: a smaller batch does nothing for optimizer states, sharding nothing for activations.
--   The largest kind shows which remedy is worth its cost.
-- measured: Allocations that exist at the peak (allocation.at_peak), by category, over memory_peak.bytes; the stacks of at
--   least half of them show their category. Upper limits: half the batch saves half of activations and input; 16 bits save half
--   of 32-bit parameters; 8 bits save three quarters of 32-bit optimizer states; n ranks, the size of the job, hold 1 / n of
--   what they shard; an optimizer that steps in the backward pass saves all gradients. Checkpointing keeps the input of each
--   block; the snapshot does not show how much that is.
-- try: Start with the largest kind, then take another snapshot, because the peak may move.
-- references: https://arxiv.org/abs/1910.02054
--   https://docs.pytorch.org/docs/stable/checkpoint.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
--   https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html
-- remark: {% set kinds = rows | map(attribute='category') | unique | list %}{% if kinds | length >= 2 %}Of {{ size(facts.peak_bytes) }} in use at the peak
--     {%- for kind in kinds %}{% set own = rows | selectattr('category', 'equalto', kind) | list %}
--     {%- if loop.first %}, {% elif loop.last %}, and {% else %}, {% endif %}{{ {'optimizer': 'optimizer states'}.get(kind, kind) }} are {{ size(own[0].held_bytes) }} (at most
--       {%- for row in own %} {{ size(row.saved_bytes) }} less {{ row.lever }}{% if not loop.last %},{% endif %}
--       {%- endfor %})
--     {%- endfor %}.
--   {%- endif %}
-- fix: {% set code = { 'with half of the batch': 'Halve the micro-batch and double the accumulation: `DataLoader(...,
--   batch_size=batch_size // 2)`. The batch per optimizer step and the learning rate stay the same. Checkpointing the blocks
--   that hold most costs time instead of samples.', 'in 16 bits where they have 32': 'Keep parameters in 16 bits if the results
--   allow it: `model.to(torch.bfloat16)`.', 'in 8 bits where they have 32': 'Keep optimizer states in 8 bits:
--   `bitsandbytes.optim.AdamW8bit`, or the one in TorchAO; check that the loss falls as before.', 'released in the backward
--   pass': 'Step in the backward pass and release each gradient at once:
--   `parameter.register_post_accumulate_grad_hook(step)`.', } -%} {{ code.get(facts.lever, 'Shard over the ranks: `' ~
--   ('fully_shard' if program.can_compile else 'FSDP') ~ '(model)`.') }}
-- for: pytorch, training
-- needs: allocations
-- absent: {% if not ask('training_snapshot') %}the history has no backward pass and no optimizer {%- endif %}
-- unknown: {% if rows and facts.unknown_share > 0.5 %}for {{ percent(facts.unknown_share) }} of the memory in use at the peak,
--   the stacks do not show what it is {%- endif %}
-- threshold: least = 0.1: of the peak: a lever on less hardly changes which batch fits
-- remarks: yes
-- uses: peak_memory
with
job as (
    select coalesce(max(world_size), 1) as ranks
    from trace
    where trace_id = $trace_id
),

lever as (
    from (values
        ('activations', 'with half of the batch', 0.5),
        ('inputs', 'with half of the batch', 0.5),
        ('parameters', 'in 16 bits where they have 32', 0.5),
        ('optimizer', 'in 8 bits where they have 32', 0.75),
        ('gradients', 'released in the backward pass', 1)
    ) as each (category, lever, share)
    union all
    select c.category, 'sharded over ' || ranks || ' ranks', 1 - 1 / ranks
    from job
    cross join (values ('parameters'), ('gradients'), ('optimizer')) as c (category)
    where ranks > 1
)

select
    p.category, p.held_bytes, p.held_share, l.lever,
    (p.held_bytes * l.share)::bigint as saved_bytes,
    p.allocations, p.owner, p.peak_bytes,
    coalesce((select held_share from peak_memory where category = 'unknown'), 0) as unknown_share
from peak_memory as p
inner join lever as l using (category)
where p.held_share >= $least
order by saved_bytes desc, p.category, l.lever
