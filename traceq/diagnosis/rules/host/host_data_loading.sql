-- The training thread's time under fetches of input, in a trace without GPU work.
-- title: Steps wait for input
-- finds: Time of the training thread in which it loads batches itself (a DataLoader without workers), or waits for the workers
--   that do, in traces without GPU activity.
-- matters: Without a GPU the step is what its thread does: what it spends on input it cannot spend on training.
-- measured: Own time of the training thread in the counted steps (host_ledger, category data), to the nanosecond. Nothing is
--   replayed: what goes from this thread goes from the step. Shares: low 0.5, likely 0.8, high 1: worker processes take
--   cores and memory bandwidth from the training thread, where steps are computed on the CPU as well.
-- try: num_workers, with persistent_workers; more of them where there are some; cheaper transforms.
-- references: https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- heading: {% if worst.loader_kind == 'multi_process' %}Start more workers, or make batches cheaper{% else %}Load
--   batches in worker processes{% endif %}: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{%
--   else %}a step{% endif %} is fetching
-- fix: {% if worst.loader_kind == 'multi_process' -%} Give the loader more workers, for instance {{ [2 *
--   (facts.workers or 1), most_workers] | min }}. They help while cores are free; where every core computes, only
--   cheaper transforms or data that is prepared once do. A fetch takes {{ per_fetch(facts) }}. {%- else %}{{
--   remedy('workers', workers=workers_needed(facts)) }} A fetch takes {{ per_fetch(facts) }}. Where the steps are
--   computed on the same cores, leave some to the workers, or prepare the data once and store it. {%- endif %} {{
--   busiest(facts) }}
-- confidence: {% if worst.loader_kind is none %}medium{% else %}high{% endif %}
-- reason: {% if worst.loader_kind is none %}The name says that input is fetched, not by whom. {%- elif facts.workers
--   %}The loader's workers are in the trace, and the main thread does nothing else meanwhile. {%- else %}The name of
--   the fetch says who makes the batches, and the main thread does nothing else meanwhile. {%- endif %}
-- wrong-if: The process has no core to spare for workers{% if subject.present.gpus %}, or a GPU, whose work this trace does not
--   hold, is what the steps wait for{% endif %}.
-- needs: steps, host_alone
-- absent: {% if has('gpu') %}a GPU works in the steps: idle_data says what input costs it{% endif %}
-- facts: input_facts
-- low: 0.5
-- likely: 0.8
-- threshold: most_workers = 16: more compete for memory and cores of one GPU's share of a usual host (8 to 16 cores a
--   GPU)
-- uses: host_time
-- categories: data
select
    p.step,
    p.ts,
    p.dur,
    coalesce(f.loader, c.name, p.name) as name,
    p.slice_id,
    p.dur as claimed,
    p.category as cause,
    p.piece_id as gap_id,
    coalesce(f.loader_kind, (select max('multi_process') from data_worker where trace_id = $trace_id and role = 'worker')) as loader_kind,
    f.dur as fetch_ns
from host_time as p
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.context_slice_id
left join data_fetch as f on f.trace_id = $trace_id and f.slice_id = p.context_slice_id
where p.category = 'data'
