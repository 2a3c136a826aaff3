-- The first counted step against the others.
-- title: A warm-up step is counted
-- finds: A first counted step that takes far longer than the others, in a capture too short for traceq to exclude it.
-- matters: Loading modules, tuning kernels and the first allocations happen once in a run, and in a capture of a few
--   steps they are a large part of every mean. Findings then describe start-up rather than training.
-- measured: The first counted step is longer than 1.5 times the median of the others, of which each is shorter than
--   the first, with fewer than 10 counted steps (with more, it has little effect). Warm-up that traceq recognizes is
--   already excluded (step.excluded).
-- try: Capture later steps, or more steps: with at least four, traceq excludes leading outliers.
-- references: https://docs.pytorch.org/docs/stable/profiler.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html
-- remark: {% if facts.ratio > 1.5 and facts.dur > facts.other_longest_ns %}Step {{ facts.step }} takes {{
--   time(facts.dur) }}, {{ '%.1f' % facts.ratio }} times the median of the other {{ facts.other_steps }}. With it the
--   mean is {{ time(facts.mean_ns) }}; without it, {{ time(facts.mean_without_ns) }}. {%- if
--   facts.loading_and_allocating_calls %} {{ facts.loading_and_allocating_calls }} calls in it load code or allocate
--   memory and take {{ time(facts.loading_and_allocating_ns) }}. {%- endif %} {%- endif %}
-- fix: {{ way('later_start', 'Start the capture later.') }}
-- needs: steps
-- captures: host_only, steps, window
-- unknown: {% if steps < 2 %}there is only one counted step and none to compare it with; capture more steps{% endif
--   %}
-- absent: {% if steps >= 10 %}{{ steps }} counted steps: one of them has little effect on the means{% endif %}
-- remarks: yes
with
numbered as (
    select step, name, ts, dur, row_number() over (order by step) as number
    from step
    where trace_id = $trace_id and excluded is null
),

first_step as (
    select step, name, ts, dur
    from numbered
    where number = 1
),

rest as (
    select count(*) as steps, median(dur) as median, avg(dur) as mean, max(dur) as longest
    from numbered
    where number > 1
),

seen as (
    select count(*) as calls, coalesce(sum(c.dur), 0) as dur
    from cpu_slice as c
    inner join host_name as n on n.trace_id = c.trace_id and n.kind = c.kind and n.name = c.name
    cross join first_step as f
    where
        c.trace_id = $trace_id
        and c.kind = 'runtime'
        and n.activity in ('allocation', 'compile')
        and c.ts >= f.ts
        and c.ts < f.ts + f.dur
)

select
    f.step, f.name, f.ts, f.dur,
    r.steps as other_steps, r.median as other_median_ns, r.longest as other_longest_ns,
    f.dur / r.median as ratio,
    (f.dur + r.mean * r.steps) / (r.steps + 1) as mean_ns,
    r.mean as mean_without_ns, c.calls as loading_and_allocating_calls, c.dur as loading_and_allocating_ns
from first_step as f
cross join rest as r
cross join seen as c
where r.steps > 0
