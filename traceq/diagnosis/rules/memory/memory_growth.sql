-- Memory that every counted step leaves behind.
-- title: Memory grows with every step
-- finds: Memory of the GPU or the host that grows in every counted step.
-- matters: After hours, the run fails with out of memory. Typical causes are losses kept with their graph, lists of
--   outputs, and hooks that hold on to tensors.
-- measured: memory_step.growth is above 0 in each counted step, at least 3 of them, with a median of at least 1 MiB
--   (less is counters and buffers). Warm-up steps, which fill optimizer states and caches, are excluded.
-- try: Keep numbers, not tensors: loss.item() or loss.detach(). Compare two snapshots of the allocator to see what
--   holds them.
-- references: https://docs.pytorch.org/docs/stable/notes/faq.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
-- remark: Memory ({{ facts.memory }}) grows in each of {{ facts.steps }} counted steps, by
--   {{ bytes_in('MiB', facts.growth_bytes, 1) }} MiB a step, to {{ bytes_in('GiB', facts.allocated_bytes, 2) }} GiB.
--   {%- if facts.capacity_bytes %} At this rate the GPU is full after
--     {{ '{:,.0f}'.format([0, (facts.capacity_bytes - facts.allocated_bytes) / facts.growth_bytes] | max) }} more steps.
--   {%- endif %}
-- key: {{ facts.memory }}
-- fix: {% if facts.memory == 'host' %}Look for code that collects results on the host in the loop, and for caches
--   that keep what was read. {%- else %}Look for tensors that outlive the step{% if 'training' in program.workloads
--   %}: total += loss keeps each graph, total += loss.item() or loss.detach() does not{% endif %}. {% if program.kind
--   in ('', 'pytorch') %}torch.cuda.memory._record_memory_history() and _dump_snapshot() show which lines allocated
--   what is left. {%- endif %} {%- endif %}
-- for: pytorch, vllm, sglang, tensorrt_llm
-- needs: steps, several_steps, memory_samples
-- captures: host_only, steps, window
-- each: row
-- threshold: enough_steps = 3: two steps that differ are no trend
-- threshold: least_bytes = 1048576: less is counters and buffers
-- remarks: yes
-- uses: counted
-- only-with: memory_step: trace_id = $trace_id and growth > 0
with
sampled as (
    select m.memory, m.step, m.growth, m.allocated_end, m.capacity
    from memory_step as m
    inner join counted using (step)
    where
        m.trace_id = $trace_id
        and (m.device = $device or m.memory = 'host')
        and m.growth is not null
)

select
    memory,
    count(*) as steps,
    min(growth) as least_bytes,
    median(growth) as growth_bytes,
    sum(growth)::bigint as grown_bytes,
    max_by(allocated_end, step) as allocated_bytes,
    any_value(capacity) as capacity_bytes
from sampled
group by memory
having count(*) >= $enough_steps and min(growth) > 0 and median(growth) >= $least_bytes
order by growth_bytes desc, memory
