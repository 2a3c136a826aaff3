-- The training thread's time in operators, in a trace without GPU work; and the time in which other threads run them for it.
-- title: Operators on the CPU
-- finds: The time of a step that PyTorch's operators take, in traces without GPU activity.
-- matters: This is the computation itself. It cannot be removed, but it can be made faster: with other kernels, other types,
--   fewer and larger operators, more threads.
-- measured: Own time of the training thread in operators in the counted steps, and time in which it runs nothing while other
--   threads of its process run operators (autograd). Shares, which are assumptions: low 0, likely 0.1 of matrix products and
--   convolutions, which compiling does not change, and 0.4 of all others, high 0.75: what compiling for the CPU and bfloat16
--   save differs from model to model.
-- try: torch.compile, bfloat16 autocast where the CPU has it, torch.set_num_threads, fused optimizers.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html
-- heading: {% if program.is_compiled or not program.can_compile %}Compute less on the CPU{% else %}Compile operators on the CPU{% endif %}: {{
--   percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %}, most in {{
--   rows[0].name | cut }}
-- for: pytorch
-- fix: {% if subject.present.gpus %}The trace lists a GPU but has none of its work: record that first ({{ way('gpu') }}). {%
--   endif %}{% if program.can_compile and not program.is_compiled %}Compile the model, which fuses operators: `model =
--   torch.compile(model)`. {% else %}Compute in bfloat16: `torch.autocast("cpu", dtype=torch.bfloat16)`. {% endif %}Most of the
--   time is in {{ shares(rows) }}. {% if program.can_compile and not program.is_compiled %}Also try bfloat16:
--   `torch.autocast("cpu", dtype=torch.bfloat16)`. {% endif %}Set `torch.set_num_threads` to the number of physical cores, less
--   those that the loader's workers use. {%- if program.trains and facts.optimizer_share >= least_optimizer %} {{
--   percent(facts.optimizer_share) }} of it is the optimizer: fused=True, or foreach=True, updates all parameters at once. {%-
--   endif %} {%- if facts.mean_ns < short_operator %} An operator takes {{ time(facts.mean_ns) }} on average, most of which is
--   the call itself: larger batches make fewer and longer calls. {%- endif %}
-- confidence: low
-- reason: The trace does not show how much faster the operators could be.
-- wrong-if: The operators are as fast as this machine allows{% if subject.present.gpus %}, or wait for a GPU whose work is not
--   in this trace{% endif %}.
-- needs: steps, host_alone, operators
-- facts: host_operators_facts
-- low: 0
-- likely: 0.4
-- high: 0.75
-- threshold: short_operator = 20000: an operator of PyTorch takes the host 5 to 20 us before it computes anything
-- threshold: least_optimizer = 0.2: where the optimizer is less than a fifth of the operators, others come first
-- uses: host_time
select
    p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    if(regexp_matches(p.name, '(^|::|_)(mm|addmm|bmm|baddbmm|addbmm|matmul|linear|mv|dot|einsum)($|_)|conv|attention|lstm|gru'), 0.25, 1) as goes
from host_time as p
where
    p.category in ('operator', 'synchronization')
    or (p.elsewhere = 'operators' and p.category in ('annotation', 'python', 'none'))
