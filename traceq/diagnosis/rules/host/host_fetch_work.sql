-- The training thread's time in one named range inside its fetches, in a trace without GPU work.
-- title: One part of making a batch
-- finds: A range, or a function of the program, inside the fetches of a DataLoader without workers, in traces without GPU activity: what
--   collates, decodes, tokenizes or augments.
-- matters: The trace names the part of a batch that takes the time, and shows that the training thread does it.
-- measured: Own time of the training thread (host_time) in the range, including operators, if it is at least a twentieth of the
--   steps. Shares: low 0 (code that is already fast can only move to workers, which need a free core), likely 0.9 (a Python
--   loop over elements takes at least ten times as long as one call for all of them), high 1 (prepared once and stored).
-- try: One call of NumPy or PyTorch for the whole batch; a tokenizer that takes lists; workers; data prepared in advance.
-- references: https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn
--   https://numpy.org/doc/stable/user/basics.broadcasting.html
-- each: host_fetch_ranges
-- key: {{ worst.range | cut }}
-- heading: Vectorize {{ cut(worst.range) }}, or move it to workers: {{ percent(claimed_share) }} of {% if subject.is_window
--   %}the window{% else %}a step{% endif %}
-- fix: Build the whole batch with one call in {{ cut(worst.range) }} ({{ per_step(claimed_ns) }}), or prepare it once and store
--   it. {{ remedy('workers', workers=workers_needed(ask('input_facts')[0])) }} Workers help only if a core is free.
-- confidence: medium
-- reason: The range inside the fetch is in the trace; whether it can be made faster is not.
-- wrong-if: It is already one call of fast code: then only workers, or data prepared in advance, help.
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
