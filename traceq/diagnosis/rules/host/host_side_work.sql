-- The training thread's time in one named range beside the model, in a trace without GPU work.
-- title: Work outside the model
-- finds: A range or function that is named after measuring or preparing (metrics, tokenize, augment), or that spends most of
--   its time in Python. It applies to traces with operators and without GPU activity, outside forward passes and outside
--   operators that have a counterpart in a backward pass.
-- matters: The model needs the result late, or only once: the work can be done earlier, in parallel, or for the whole batch at
--   once.
-- measured: Own time of the training thread (host_time) in the range, including operators, but not in the backward pass, the
--   optimizer, or fetching. Shares: low 0.2 (some of the work has to be done here), likely 0.9 (one call per batch, instead of
--   a Python loop, takes a tenth or less), high 1 (prepared once, or done by a worker during training). If no name shows that
--   it is outside the model: low 0, likely 0.5 of that.
-- try: Prepare it once and store it; do it in the loader's workers; one call for the whole batch; measure every tenth step.
-- references: https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- each: host_side_ranges
-- key: {{ worst.range | cut }}
-- heading: Take {{ cut(worst.name) }} out of the step: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{%
--   endif %}
-- fix: {% if worst.work == 'measuring' %}Measure every tenth step, and with one operator on the whole batch. {% else %}Prepare
--   it once and store it, or let the loader's workers do it; if it has to be done here, process the whole batch with one call.
--   {% endif %}{{ cut(worst.name) }} takes {{ per_step(claimed_ns) }}, {{ percent(given.python_share) }} of it outside
--   operators.
-- confidence: medium
-- reason: The range is in the trace; that the model does not need it at this point is inferred from its name, or because most
--   of it is Python.
-- wrong-if: The range is part of the model, or is already fast code.
-- needs: steps, host_alone, operators
-- low: 0.2
-- likely: 0.9
-- uses: host_time, side_part, side_range
select p.step, p.ts, p.dur, a.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id, if(r.is_named, 1, 0) as goes_low, if(r.is_named, 1, 0.5) as goes, a.range, a.work
from host_time as p
inner join side_part as a on a.piece_id = p.piece_id
inner join side_range as r on r.range = a.range
where r.place = $place
