-- Idle time in which the host fetches input.
-- title: GPU idle: the host fetches input
-- finds: Time in which the GPU has nothing to do because the host fetches the next batch, where no more specific rule
--   explains why that takes so long.
-- matters: The GPU waits for all of it.
-- measured: The pieces of cause idle_data in the counted steps (idle_piece); fetches are identified by their names
--   (data_fetch). Shares: low 0.3 (cores or storage may be the limit), likely 1, high 1.
-- try: A test with random batches created on the GPU shows how fast training could be. Then try workers, prefetching,
--   cheaper transforms.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/data.html
-- fix: {% if facts.workers %}Make the work of the {{ facts.workers }} workers cheaper, or use more workers and a longer
--   prefetch queue. {%- else %}{{ remedy('workers', workers=4) }} {%- endif %} The GPU idles {{ per_step(claimed_ns) }} ({{
--   percent(claimed_ns / subject.step_ns) }}) while the host fetches from {{ cut(worst.name) }}{% if facts.fetches %}; a
--   fetch takes {{ per_fetch(facts) }}{% endif %}. {{ busiest(facts) }}{{ worker_work() }}A capture with {{
--   way('fetch_work', 'system calls') }} shows what it waits for.
-- confidence: medium
-- reason: The range's name shows that it fetches input; what limits it is not known.
-- wrong-if: A run on random input, created once on the GPU, has steps as long as these.
-- heading: {% if facts.workers %}Make input cheaper, or use more workers{% else %}Fetch input ahead of time{% endif
--   %}
-- made-by: host-preempted
-- needs: gpu, steps, fetches
-- facts: input_facts
-- low: 0.3
-- likely: 1.0
-- rest: yes
-- uses: fetch_idle
-- categories: idle_data
select
    p.step, p.ts, p.dur,
    coalesce(f.loader, c.name) as name,
    coalesce(f.slice_id, c.slice_id) as slice_id,
    p.dur as claimed, p.cause, p.gap_id, f.loader_kind, f.dur as fetch_ns
from fetch_idle as p
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.fetch_id
left join data_fetch as f on f.trace_id = $trace_id and f.slice_id = p.fetch_id
