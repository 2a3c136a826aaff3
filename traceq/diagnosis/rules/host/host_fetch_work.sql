-- The training thread's time in one named range inside its fetches, in a trace without GPU work.
-- title: One part of making a batch
-- finds: A range, or a function of the program, inside the fetches of a DataLoader without workers, in traces without GPU activity: what
--   collates, decodes, tokenizes or augments.
-- matters: It is known by name which part of a batch takes the time, and that the training thread does it.
-- measured: Own time of the training thread (host_time) in the range, operators in it included, where it is a twentieth of the steps at
--   least. Shares: low 0 (what is fast code already only moves to workers, which need a free core), likely 0.9 (a loop of Python over
--   elements takes ten times as long as one call for all of them, or more), high 1 (prepared once and stored).
-- try: One call of NumPy or PyTorch for the whole batch; a tokenizer that takes lists; workers; data that is prepared once.
-- references: https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn
--   https://numpy.org/doc/stable/user/basics.broadcasting.html
-- each: host_fetch_ranges
-- key: {{ worst.range | cut }}
-- heading: Vectorize {{ cut(worst.range) }}, or let workers do it: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{%
--   else %}a step{% endif %}
-- fix: Let one call make the whole batch in {{ cut(worst.range) }} ({{ per_step(claimed_ns) }}), or prepare it once and store it. {{
--   remedy('workers', workers=workers_needed(ask('input_facts')[0])) }} Workers help while a core is free.
-- confidence: medium
-- reason: The range inside the fetch is in the trace; whether it can be made faster is not.
-- wrong-if: It is one call of fast code already: then only workers, or data that is prepared once, help.
-- needs: steps, host_alone, fetches
-- low: 0
-- likely: 0.9
-- uses: host_time, fetch_part, fetch_range
-- categories: data
select p.step, p.ts, p.dur, f.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id, f.range
from host_time as p
inner join fetch_part as f on f.piece_id = p.piece_id
inner join fetch_range as r on r.range = f.range
where r.place = $place
