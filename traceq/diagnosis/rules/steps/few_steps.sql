-- The steps, and which of them count.
-- title: Too few steps for statistics
-- finds: Captures with one or two counted steps.
-- matters: A single step may be the one with a checkpoint, or the first. Of two it is unknown which is usual. Savings
--   are then those of these steps; medians, percentiles, outliers, warm-up and growth of memory are unknown.
-- measured: Counted steps (step, those without a reason in excluded): fewer than 3. Captures without marked steps have
--   a remark of their own.
-- try: Capture 10 steps after 5 that are left out: enough for outliers, and small enough to open.
-- references: https://docs.pytorch.org/docs/stable/profiler.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html
-- remark: {% if steps < 3 %}{% set counted = rows | selectattr('excluded', 'none') | map(attribute='dur') | list -%}
--     {% set excluded = rows | rejectattr('excluded', 'none') | map(attribute='excluded') |
--     unique(case_sensitive=true) | sort(case_sensitive=true) -%}
--     {% if not counted %}No step is left to count
--     {%- elif counted | length == 1 %}One step counts ({{ time(counted[0]) }}): nothing says whether it is a usual
--     one
--     {%- else %}Two steps count ({{ time(counted[0]) }} and {{ time(counted[1]) }},
--     {{ percent(share_of((counted[1] - counted[0]) | abs, counted | min)) }} apart)
--     {%- endif %}. Savings are those of what was captured; percentiles, outliers, warm-up and growth of memory cannot
--     be known.{% if excluded %} Left out: {{ excluded | join('; ') }}.{% endif %}
--   {%- endif %}
-- fix: Capture more steps: {{ way('more_steps', 'at least ten') }}.
-- needs:
-- absent: {% if subject.is_window %}no steps were found, one window is judged; see steps-not-marked{% endif %}
-- remarks: yes
select step, name, source, ts, dur, excluded
from step
where trace_id = $trace_id
-- what counts first, then a step for each reason
order by excluded is not null, row_number() over (partition by excluded order by step), step
limit 10
