-- The training thread's time in one named range beside the model, in a trace without GPU work.
-- title: Work beside the model
-- finds: A range or function that is named for measuring or preparing (metrics, tokenize, augment), or in which most of the time is Python,
--   in traces without GPU activity that hold operators. Not in a forward pass, and not where a backward pass undoes its operators.
-- matters: The model needs its result late, or once for all: it can be done before, beside, or for the whole batch at once.
-- measured: Own time of the training thread (host_time) in the range, operators in it included; not in backward pass, optimizer, or fetching.
--   Shares: low 0.2 (some of it is work that has to be done here), likely 0.9 (one call for a batch, instead of a loop of Python, takes a
--   tenth or less), high 1 (prepared once, or done by a worker beside training). Where no name says that it is beside the model: low 0,
--   likely 0.5 of that.
-- try: Prepare it once and store it; do it in the workers of the loader; one call for the whole batch; measure every tenth step.
-- references: https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- each: host_side_ranges
-- key: {{ worst.range | cut }}
-- heading: Take {{ cut(worst.name) }} out of the step: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{%
--   endif %}
-- fix: {% if worst.work == 'measuring' %}Measure every tenth step, and with one operator on the whole batch. {% else %}Prepare it once and store
--   it, or let the workers of the loader do it; where it has to be here, let one call do the whole batch. {% endif %}{{ cut(worst.name) }}
--   takes {{ per_step(claimed_ns) }}, {{ percent(given.python_share) }} of it outside of operators.
-- confidence: medium
-- reason: The range is in the trace; that the model does not need it there is inferred from its name, or from Python being most of it.
-- wrong-if: The range is a part of the model, or is fast code already.
-- needs: steps, host_alone, operators
-- low: 0.2
-- likely: 0.9
-- uses: host_time, side_part, side_range
select p.step, p.ts, p.dur, a.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id, if(r.is_named, 1, 0) as goes_low, if(r.is_named, 1, 0.5) as goes, a.range, a.work
from host_time as p
inner join side_part as a on a.piece_id = p.piece_id
inner join side_range as r on r.range = a.range
where r.place = $place
