-- Idle time in which the host was in Python, or in a range between operators.
-- title: GPU idle: the host is in Python between operators
-- finds: Time in which nothing runs on the GPU because the launching thread runs Python outside of operators and CUDA
--   calls.
-- matters: Python between two operators is not hidden once the queue of the GPU is empty: the step takes as long as
--   the interpreter needs.
-- measured: The pieces of cause idle_python in the counted steps (idle_piece), all that no other rule owns: a Python
--   frame is innermost, or a range that holds no operator at that time. High 1: what the steps lose to it. Likely 0.85,
--   low 0.2: some of it is the program's own work.
-- try: Move it off the training thread (metrics, preparing input), vectorize loops, keep it out of the inner loop, or
--   compile the region around it: torch.compile runs no Python between the operators of a graph.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/torch.compiler.html
-- fix: Most of it is in {{ shares(rows) }}.
--   {% if has('python_frames') %}The frames say where to look.
--   {%- else %}{{ way('python_lines', 'Python stacks would say which lines.') }}
--   {%- endif %} Compile the part that repeats, `model = torch.compile(model)`, so that no Python runs between its
--   operators; move what needs no GPU (metrics, preparing the next batch) to a thread or process of its own; replace
--   loops over tensors by one operation.
-- confidence: medium
-- reason: {% if has('python_frames') %}The frames are in the trace.
--   {%- else %}A range is open and no operator or call in it: that is Python as a rule, or work that was not traced.
--   {%- endif %}
-- wrong-if: The thread waits there for something that was not traced, such as a lock or another process.
-- same-fix: {% if has('operators') and claimed_ns * steps < short_ns * instances %}fewer-launches{% endif %}
-- needs: gpu, steps
-- rules-out: annotations|python_frames
-- facts: python_bound_facts
-- low: 0.2
-- likely: 0.85
-- threshold: short_ns = 500000: ten times what an operator of PyTorch takes the host (20 to 50 us): Python of less is
--   that around operators, which goes with them
-- rest: yes
-- uses: idle
-- categories: idle_python
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_python'
