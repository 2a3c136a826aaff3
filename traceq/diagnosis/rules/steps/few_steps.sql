-- The steps, and which of them count.
-- title: Too few steps for statistics
-- finds: Captures with one or two counted steps.
-- matters: A single step may be the one with a checkpoint, or the first one. With two, it is not known which is
--   typical. Savings then apply to these steps only; medians, percentiles, outliers, warm-up and memory growth are
--   not known.
-- measured: Counted steps (step, those without a reason in excluded): fewer than 3. Captures without marked steps
--   have a separate remark.
-- try: Capture 10 steps after skipping 5: enough to find outliers, and small enough to open.
-- references: https://docs.pytorch.org/docs/stable/profiler.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html
-- remark: {% if steps < 3 %}{% set counted = rows | selectattr('excluded', 'none') | map(attribute='dur') | list -%}
--   {% set excluded = rows | rejectattr('excluded', 'none') | map(attribute='excluded') | unique(case_sensitive=true)
--   | sort(case_sensitive=true) -%} {% if not counted %}No step is left to count {%- elif counted | length == 1
--   %}Only one step counts ({{ time(counted[0]) }}), and nothing shows whether it is typical {%- else %}Only two
--   steps count ({{ time(counted[0]) }} and {{ time(counted[1]) }}, {{ percent(share_of((counted[1] - counted[0]) |
--   abs, counted | min)) }} apart) {%- endif %}. Savings apply only to what was captured; percentiles, outliers,
--   warm-up and memory growth are not known.{% if excluded %} Left out: {{ excluded | join('; ') }}.{% endif %} {%-
--   endif %}
-- fix: Capture more steps: {{ way('more_steps', 'at least ten') }}.
-- needs:
-- absent: {% if subject.is_window %}no steps were found, so one window is analysed; see steps-not-marked{% endif %}
-- remarks: yes
select step, name, source, ts, dur, excluded
from step
where trace_id = $trace_id
-- what counts first, then a step for each reason
order by excluded is not null, row_number() over (partition by excluded order by step), step
limit 10
