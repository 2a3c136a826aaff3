-- States of the optimizer, in a snapshot, at the time when most memory is in use.
-- title: Optimizer states hold much of the memory
-- finds: Optimizer states that make up at least a quarter of the memory in use at the peak of a memory snapshot.
-- matters: Adam keeps two numbers for each parameter, eight bytes in FP32: four times the size of a model in half precision.
--   Each data-parallel rank holds all of them, although one copy would do.
-- measured: Allocations that exist at the peak whose stack is in an optimizer and that it did not release itself (category
--   optimizer), over memory_peak.bytes: at least 25 %.
-- try: Shard them over the ranks (ZeRO, FSDP), or 8-bit states; a fused optimizer needs no temporary copies.
-- references: https://docs.pytorch.org/docs/stable/distributed.optim.html
--   https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
--   https://docs.pytorch.org/docs/stable/optim.html
-- remark: {% if facts.held_share >= least %}{{ size(facts.held_bytes) }} of the {{ size(facts.peak_bytes) }} in use at the peak
--   ({{ percent(facts.held_share) }}) are optimizer states {%- if facts.parameter_bytes %}, {{ number(facts.held_bytes /
--   facts.parameter_bytes) }} times the size of the parameters {%- endif %}, allocated by {{ cut(facts.owner) }}. {%- endif %}
-- fix: {% if subject.world_size and subject.world_size > 1 %}Shard them over the {{ subject.world_size }} ranks: {% if
--   program.can_compile %}`fully_shard(model)`, or {% endif %}`ZeroRedundancyOptimizer`. {%- else %}Keep them in 8 bits:
--   `bitsandbytes.optim.AdamW8bit` {%- if program.can_compile %} or `torchao.optim.AdamW8bit` {%- endif %}. With several ranks,
--   shard them: {% if program.can_compile %}`fully_shard(model)`, or {% endif %}`ZeroRedundancyOptimizer`. {%- endif %}
--   `fused=True` saves the optimizer's temporary copies.
-- for: pytorch, training
-- needs: allocations
-- threshold: least = 0.25: sharding or 8 bits then leave the peak at least a sixth lower
-- remarks: yes
-- uses: peak_memory
select
    p.*,
    (select held_bytes from peak_memory where category = 'parameters') as parameter_bytes
from peak_memory as p
where p.category = 'optimizer'
