-- The training thread's time in Python's garbage collector, in a trace without GPU work.
-- title: Python collects garbage during steps
-- finds: Time in which the training thread looks for unreachable objects, in traces without GPU activity: collections that
--   traceq noted while it recorded, frames of gc.collect(), and ranges with such names; also inside fetches of input.
-- matters: Collecting the oldest generation visits every object of the process: with a large data set in memory that takes
--   longer than a step.
-- measured: Own time of the training thread in the counted steps (host_time) in them. Shares: low 0.5, likely 0.95 and high 1: a
--   collection every few hundred steps remains.
-- try: gc.collect() and gc.freeze() once after start-up; gc.disable(), then gc.collect(1) every few hundred steps. No gc.collect()
--   in the loop. Data in arrays instead of many small objects.
-- references: https://docs.python.org/3/library/gc.html
-- heading: Collect garbage less often: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %}
-- fix: {% if facts.is_asked_for %}Take `gc.collect()` out of the loop, or call it every few hundred steps: the program itself asks
--   for {{ 'these collections' if facts.collections > 1 else 'this collection' }}. {% else %}Call `gc.collect(); gc.freeze()` after
--   start-up, so that later collections do not visit what was there before. {% endif %}They take {{ per_step(claimed_ns) }}.
-- confidence: high
-- reason: The recording notes each collection, or the trace names it.
-- wrong-if: Memory of the host grows without limit when garbage is collected less often.
-- needs: steps, host_alone
-- facts: host_collections
-- low: 0.5
-- likely: 0.95
-- uses: host_time, collection_name
select p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id
from host_time as p
inner join collection_name as n on n.kind = p.kind and n.name = p.name
