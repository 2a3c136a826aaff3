-- Time in which the GPU does what was launched before the capture.
-- title: The GPU runs work that was launched before the capture
-- finds: Captures that begin while the GPU's queue is full: the first captured work waits for work that is not in the file.
-- matters: That time looks idle but is not. No finding claims it, and it makes all other shares of the step look smaller than
--   they are.
-- measured: idle_earlier_work in the counted steps (time_ledger), if it is at least 1 % of them.
-- try: Capture later steps as well, with the profiler's schedule or a longer window. Steps then take as long as the GPU needs
--   for them.
-- references: https://docs.pytorch.org/docs/stable/profiler.html
-- remark: {% if facts.earlier_ns >= least * facts.total_ns and facts.earlier_ns -%} For {{ time(facts.earlier_ns /
--   subject.steps) }} {% if subject.steps == 1 %}in all{% else %}per step on average{% endif %} the GPU runs work that was
--   launched before the capture began and is therefore not in the trace. In the remaining time it computes {{
--   percent(share_of(facts.compute_ns, facts.total_ns - facts.earlier_ns)) }}. {%- endif %}
-- fix: Look at the remaining time only, or capture several steps: those after the first contain all of their work.
-- needs: gpu, steps
-- threshold: least = 0.01: what is worth listing at all (WORTH_LISTING)
-- remarks: yes
-- uses: counted
select
    coalesce(sum(dur), 0) as total_ns,
    coalesce(sum(dur) filter (category = 'idle_earlier_work'), 0) as earlier_ns,
    coalesce(sum(dur) filter (category = 'compute'), 0) as compute_ns
from time_ledger
inner join counted using (step)
where trace_id = $trace_id and device = $device
