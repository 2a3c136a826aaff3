-- Idle time in which the host allocates, releases or pins memory.
-- title: GPU idle: the host allocates memory
-- finds: Time in which the GPU has nothing to do because the host allocates, releases or pins memory, where no more
--   specific rule applies.
-- matters: Such calls take from microseconds to seconds, and some wait for the GPU.
-- measured: The pieces of cause idle_allocation in the counted steps (idle_piece). Without steps, that is mostly
--   start-up. Shares: low 0.2 (some memory has to be allocated once), likely 1, high 1.
-- try: Allocate and pin before the loop, and reuse the memory.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
-- fix: {{ remedy('allocate_before') }} The GPU idles for {{ per_step(claimed_ns) }} while the host allocates or pins
--   memory{% if rows %}: {{ allocations(rows) }}{% endif %}. {% if subject.is_window %}No steps are marked, so
--   start-up also counts: mark them (traceq.annotate) to see what the loop allocates. {%- endif %}
-- confidence: {% if subject.is_window %}low{% else %}high{% endif %}
-- reason: {% if subject.is_window %}Without marked steps, the loop cannot be told from start-up. {%- else %}The calls
--   are in the trace, and the GPU has nothing to do during them. {%- endif %}
-- wrong-if: The calls are made once, before the loop begins.
-- same-fix: no-allocation
-- needs: gpu, steps, calls
-- facts: allocation_facts
-- low: 0.2
-- likely: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_allocation
-- heading: Allocate and pin before the loop
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id, p.slice_dur as in_slice_ns
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_allocation'
