-- The training thread's time under fetches of input, in a trace without GPU work.
-- title: Steps wait for input
-- finds: Time of the training thread in which it loads batches itself (a DataLoader without workers), or waits for the workers
--   that do, in traces without GPU activity.
-- matters: Without a GPU, the training thread does all the work of a step: the time it spends on input, it cannot spend on
--   training.
-- measured: Own time of the training thread in the counted steps (host_ledger, category data). Time saved on this thread
--   shortens the step. Shares: low 0 (workers would need a core, and none is free), high 1 (the data is prepared once, and the
--   fetch takes no time). Likely is for workers, step by step: as many as load a batch in the rest of the step (2 to 16), or
--   twice as many as there are, and no more than there are cores, if the run's settings or a log beside the trace say how many;
--   the step then takes the longest of three times: that of the rest of the step, of the fetch by that many workers, and of
--   both together on all cores. With as many workers as cores it is 0. Where traceq record sampled the workers' stacks and they
--   make batches at least 0.7 of the time, likely is no less than what wins if the function that they are in most takes half as
--   long; where they make fewer, they are not the limit, and likely is 0.
-- try: num_workers, with persistent_workers; more workers if there are some already; cheaper transforms.
-- references: https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- heading: {% set work = ask('worker_work') -%} {% if worst.loader_kind != 'multi_process' %}Load input in worker
--   processes{% elif work and work[0].fetching < least_busy %}Find what fetches wait for: the loader's workers are idle{%
--   elif work and work[0].function and facts.cores and facts.workers >= facts.cores %}Make {{ cut(work[0].function) }}
--   cheaper in the loader's workers{% elif facts.cores and facts.workers >= facts.cores %}Make input cheaper{% else %}Start
--   more workers, or make input cheaper{% endif %}: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{%
--   else %}a step{% endif %} is spent fetching
-- fix: {% if worst.loader_kind != 'multi_process' -%} {{ remedy('workers', workers=workers_needed(facts)) }} A fetch takes
--   {{ per_fetch(facts) }}. If the steps are computed on the same cores, leave some to the workers, or prepare the data once
--   and store it. {%- elif facts.worker_busy is not none and facts.worker_busy < least_busy -%} Workers that have time to
--   spare are not the limit. What is left: data that takes long to hand over or to pin, the first fetches after the loader
--   starts, and single slow ones. {{ remedy('prefetch') }} A fetch takes {{ per_fetch(facts) }}. {%- elif facts.cores and
--   facts.workers >= facts.cores -%} {% set work = ask('worker_work') %} Make {% if work and work[0].function %}{{
--   cut(work[0].function) }}{% else %}transforms{% endif %} cheaper, or prepare the data once and store it: {{
--   plural(facts.workers, 'worker') }} on {{ plural(facts.cores | int, 'core') }} leave no core for more. A fetch takes {{
--   per_fetch(facts) }}. {%- else -%} Give the loader more workers{% if facts.workers %}, for instance {{ [2 *
--   facts.workers, most_workers, (facts.cores or most_workers) | int] | min }}{% endif %}. More workers help as long as
--   cores are free; if every core is busy, only cheaper transforms or data prepared in advance help. A fetch takes {{
--   per_fetch(facts) }}. {%- endif %}{% if not facts.cores %} It is not known how many cores the program may use. {%- endif
--   %} {{ busiest(facts) }}{{ worker_work() }}
-- confidence: {% if worst.loader_kind is none %}medium{% else %}high{% endif %}
-- reason: {% if worst.loader_kind is none %}The name shows that input is fetched, but not by which thread or process. {%- elif
--   worst.loader_kind == 'multi_process' and facts.workers %}The loader has {{ plural(facts.workers, 'worker') }}, and the main
--   thread does nothing else in that time. {%- else %}The name of the fetch shows who prepares the input, and the main thread
--   does nothing else in that time. {%- endif %}
-- wrong-if: The process has no core to spare for workers{% if subject.present.gpus %}, or the steps wait for a GPU whose work
--   is not in this trace{% endif %}.
-- needs: steps, host_alone
-- facts: input_facts
-- low: 0
-- threshold: least_busy = 0.7: workers that wait for more than about a third of their time are not the limit
-- threshold: least_samples = 20: fewer tell no share
-- threshold: most_workers = 16: more compete for memory and cores of one GPU's share of a usual host (8 to 16 cores a
--   GPU)
-- uses: host_time, host_cores, loader_workers
-- categories: data
with
fetching as (
    select
        step,
        sum(dur) filter (category = 'data') as fetch,
        sum(dur) filter (category <> 'data') as rest,
        sum(dur) as dur
    from host_time
    group by step
),

-- how much of their time the workers make batches, and are in the function that takes most of it; NULL where they were not sampled
working as (
    select
        any_value(a.fetching) as fetching,
        max(f.samples) / any_value(a.samples) as most
    from (
        select sum(samples) as samples, sum(samples) filter (state = 'fetch') / sum(samples) as fetching
        from worker_sample
        where trace_id = $trace_id
        having sum(samples) >= $least_samples
    ) as a
    left join (
        select sum(samples) as samples
        from worker_sample
        where trace_id = $trace_id and state = 'fetch'
        group by function
    ) as f on true
),

-- of each step what the fetch and the rest last with the workers that are advised
beside as (
    select
        f.step, f.fetch, f.dur,
        greatest(
            coalesce(f.rest, 0),
            f.fetch / least(greatest(ceil(sum(f.fetch) over () / nullif(sum(f.rest) over (), 0)), 2), $most_workers, coalesce(c.cores, $most_workers)),
            coalesce(f.dur / c.cores, 0)
        ) as in_workers,
        -- workers that are there already make a batch in all of the step; twice as many in half of it
        greatest(
            coalesce(f.rest, 0),
            least(
                if(k.fetching < $least_busy, f.dur, f.dur / least(2, greatest(coalesce(c.cores / w.workers, 2), 1))),
                if(k.fetching >= $least_busy, f.dur * (1 - k.most / 2), f.dur)
            )
        ) as in_more_workers
    from fetching as f
    cross join host_cores as c
    cross join loader_workers as w
    cross join working as k
    where f.fetch > 0
)

select
    p.step, p.ts, p.dur,
    coalesce(f.loader, c.name, p.name) as name,
    p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    greatest(b.dur - if(k.loader_kind = 'multi_process', b.in_more_workers, b.in_workers), 0) / b.fetch as goes,
    k.loader_kind,
    f.dur as fetch_ns
from host_time as p
inner join beside as b on b.step = p.step
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.context_slice_id
left join data_fetch as f on f.trace_id = $trace_id and f.slice_id = p.context_slice_id
cross join lateral (
    select coalesce(f.loader_kind, (select max('multi_process') from data_worker where trace_id = $trace_id and role = 'worker')) as loader_kind
) as k
where p.category = 'data'
