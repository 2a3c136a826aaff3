-- What PyTorch's allocator holds beyond what tensors occupy, in the step in which they occupy most; and its calls for memory.
-- title: PyTorch's allocator holds much more memory than tensors use
-- finds: Reserved memory far above allocated memory at the time when most is allocated, on a GPU that is at least half full.
-- matters: Memory reserved in blocks that fit no request is useless: a run can fail with out of memory although there is free
--   memory. And when the allocator has to return blocks and ask for new ones, the GPU waits for it.
-- measured: memory_step.peak_unused is at least 20 % of the memory reserved at the peak, and that is at least 50 % of the
--   capacity: below, there is no shortage. Calls that allocate and release memory in the counted steps (allocator_call) show
--   that it already costs time. It may also be the cache of a larger peak before the capture (an evaluation, a longer batch).
-- try: Expandable segments; batches with few different shapes, the largest first; no long-lived tensors allocated in between
--   short-lived ones.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
-- remark: {% if facts.unused_share >= 0.2 and facts.reserved_share >= 0.5 %}When tensors use most memory ({{ bytes_in('GiB',
--   facts.peak_bytes, 1) }} GiB, step {{ facts.step }}), the allocator holds {{ bytes_in('GiB', facts.reserved_bytes, 1) }} of
--   {{ bytes_in('GiB', facts.capacity_bytes, 1) }} GiB: {{ bytes_in('GiB', facts.unused_bytes, 1) }} GiB ({{
--   percent(facts.unused_share) }}) belong to no tensor. {%- if facts.allocations + facts.releases %} It asks the driver to
--   allocate or release memory {{ facts.allocations + facts.releases }} times in the counted steps. {%- endif %} {%- endif %}
-- fix: {% if not program.has('expandable_segments') %}{{ remedy('expandable') }} If that does not help, this is{% else %}This
--   may be{% endif %} the cache from an earlier, larger peak: torch.cuda.memory._record_memory_history() shows which.
-- for: pytorch
-- needs: gpu, steps, memory_samples
-- unknown: {% if not rows %}{{ lacks("the trace does not show what PyTorch's allocator reserved", 'allocator') }} {%- elif
--   facts.reserved_share is none %}the trace does not say how much memory the GPU has {%- endif %}
-- remarks: yes
-- uses: counted
with
call as (
    select
        coalesce(sum(calls) filter (operation = 'allocate'), 0) as allocations,
        coalesce(sum(calls) filter (operation = 'free'), 0) as releases
    from allocator_call
    inner join counted using (step)
    where trace_id = $trace_id
)

select
    m.step, m.peak as peak_bytes, m.peak_reserved as reserved_bytes, m.peak_unused as unused_bytes,
    m.peak_unused / m.peak_reserved as unused_share,
    m.capacity as capacity_bytes,
    m.peak_reserved / m.capacity as reserved_share,
    c.allocations,
    c.releases
from memory_step as m
inner join counted using (step)
cross join call as c
where m.trace_id = $trace_id and m.device = $device and m.memory = 'device' and m.peak_reserved > 0
order by m.peak desc, m.step
limit 1
