-- The training thread's time between operators, in a trace without GPU work.
-- title: Python between operators
-- finds: Time of the training thread in Python frames, in ranges, or in nothing, between operators, in traces without GPU
--   activity that hold operators; not in the backward pass, where no Python runs as a rule.
-- matters: The interpreter is the step, where operators are short.
-- measured: Own time of the training thread in the counted steps in frames, ranges or none (host_ledger), while no other thread
--   of its process runs operators or communicates. Shares: low 0.2, likely 0.6, high 1: some of it is the program's own work.
-- try: torch.compile, fewer and larger operators, moving what is not training to another thread.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/torch.compiler.html
-- heading: Do less in Python between operators: {{ percent(claimed_share) }} of {% if subject.is_window %}the
--   window{% else %}a step{% endif %}
-- fix: {{ remedy('less_python') }} Most of the time is in {{ shares(rows) }}. {% if has('python_frames') %}The
--   frames say where to look. {%- else %}{{ way('python_lines', 'Python stacks would say which lines.') }} {%- endif
--   %}
-- confidence: {% if subject.present.gpus %}low{% else %}medium{% endif %}
-- reason: {% if has('python_frames') %}The frames are in the trace.
--   {%- else %}No operator is open on the thread, and none on another: that is Python as a rule, or work that was not traced.
--   {%- endif %}
-- wrong-if: The thread waits there for something that was not traced, such as a lock or another process{% if subject.present.gpus %}, or
--   a GPU, whose work this trace does not hold{% endif %}.
-- needs: steps, host_alone, operators
-- facts: host_names
-- low: 0.2
-- likely: 0.6
-- uses: host_time
select p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id
from host_time as p
where p.category in ('annotation', 'python', 'none', 'other') and p.elsewhere is null and p.phase <> 'backward'
