-- Idle time under fetches by a loader that prepares batches in the training process.
-- title: Batches are loaded in the main process
-- finds: A PyTorch DataLoader without workers (num_workers=0): batches are read, transformed and collated by the
--   thread that launches the GPU's work, and meanwhile the GPU runs out of work.
-- matters: Loading and training take turns. With worker processes, the next batches are prepared while the GPU works
--   on this one.
-- measured: Idle time of cause idle_data (idle_piece) in fetches of loaders that the names of their ranges show to
--   work in the training process (data_fetch.loader_kind = in_process). Fetching while the GPU still has queued work
--   costs nothing and is not counted. No threshold. Shares: low 0.6, likely 1, high 1, of what the replay saves if
--   workers slow the host down (scenario data_in_workers): in two recorded fixes of ResNet-50 the step became shorter
--   by 0.6 and 0.7 of this time. Workers needed = fetching time / time of the step outside fetching, 2 to 16.
-- try: num_workers, with persistent_workers and pin_memory; faster transforms if that takes too many workers.
-- references: https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- fix: {% set workers = workers_needed(facts) -%} {{ remedy('workers', workers=workers) }} The main process loads its
--   own batches: the GPU idles {{ per_step(claimed_ns) }} (a step takes {{ time(subject.step_ns) }}) during fetches
--   of {{ per_fetch(facts) }}. {{ workers }} workers can keep up if a batch costs a worker what it costs now; also
--   try twice as many. {%- if workers == most_workers %} Even these will not keep up, so also make the transforms
--   cheaper. {%- endif %} {% for row in ask('input_work') if row.name.startswith('transformers/') %} {%- if
--   loop.first and program.is_pytorch %}In a Transformers pipeline, use `pipe(inputs, num_workers={{ workers }})`;
--   image processors made with `AutoImageProcessor.from_pretrained(..., use_fast=True)` take less time. {% endif %}
--   {%- endfor %}{{ busiest(facts) }} {%- if share_of(facts.transform_ns, facts.fetch_ns) %}Operators on the main
--   thread take {{ percent(share_of(facts.transform_ns, facts.fetch_ns)) }} of the fetching time. {%- endif %}
-- confidence: high
-- reason: The name of the fetch shows that the loader has no workers, and the GPU has nothing to do during fetches.
-- wrong-if: The process has no core to spare for workers, or several processes cannot read the data set at once.
-- heading: Load batches in worker processes
-- made-by: host-preempted
-- needs: gpu, steps, fetches
-- captures: host_only, steps, window
-- facts: input_facts
-- low: 0.6
-- threshold: most_workers = 16: more compete for memory and cores of one GPU's share of a usual host (8 to 16 cores a
--   GPU)
-- uses: fetch_idle
-- categories: idle_data
select
    p.step, p.ts, p.dur, f.loader as name, f.slice_id, p.dur as claimed, p.cause, p.gap_id,
    -- workers take cores from the training thread
    'data_in_workers' as scenario, f.dur as fetch_ns, f.transform as operators_ns, f.reading as reading_ns
from fetch_idle as p
inner join data_fetch as f on f.trace_id = $trace_id and f.slice_id = p.fetch_id
where f.loader_kind = 'in_process'
