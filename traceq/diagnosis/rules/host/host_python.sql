-- The training thread's time between operators, in a trace without GPU work.
-- title: Python between operators
-- finds: Time of the training thread between operators: in Python frames, in ranges, or in nothing that was recorded. It
--   applies to traces with operators and without GPU activity, and not to the backward pass, where Python normally does not
--   run.
-- matters: If operators are short, the interpreter determines how long a step takes.
-- measured: Own time of the training thread in the counted steps in frames, ranges or none (host_ledger), while no other thread
--   of its process runs operators or communicates. Shares: low 0.2, likely 0.6, high 1: some of it is the program's own work.
-- try: torch.compile, fewer and larger operators, moving work other than training to another thread.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/torch.compiler.html
-- heading: Do less in Python between operators: {{ percent(claimed_share) }} of {% if subject.is_window %}the
--   window{% else %}a step{% endif %}
-- fix: {{ remedy('less_python') }} Most of the time is in {{ shares(rows) }}. {% if has('python_frames') %}The frames show
--   where to look. {%- else %}{{ way('python_lines', 'Python stacks would show which lines.') }} {%- endif %}
-- confidence: {% if subject.present.gpus %}low{% else %}medium{% endif %}
-- reason: {% if has('python_frames') %}The frames are in the trace. {%- else %}No operator is running on this thread or another
--   one: that is usually Python, or work that was not traced. {%- endif %}
-- wrong-if: The thread waits for something that was not traced, such as a lock or another process{% if subject.present.gpus %},
--   or a GPU whose work is not in this trace{% endif %}.
-- needs: steps, host_alone, operators
-- facts: host_names
-- low: 0.2
-- likely: 0.6
-- uses: host_time
select p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id
from host_time as p
where p.category in ('annotation', 'python', 'none', 'other') and p.elsewhere is null and p.phase <> 'backward'
