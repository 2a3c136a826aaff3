-- What the many kernels of an optimizer that updates parameters one by one cost: gaps that end with one, and their own time where
-- they are too short for the GPU to be full.
-- title: The optimizer updates parameters one by one
-- finds: An optimizer step that launches kernels for each parameter separately (foreach=False, a custom optimizer, an old
--   PyTorch), instead of a few kernels for all parameters.
-- matters: A model has hundreds of parameter tensors, most of them small. Launching several kernels for each takes the host
--   longer than the GPU needs, and the GPU idles between them. foreach=True works on lists of parameters, and fused=True does
--   the whole update in one kernel per list.
-- measured: Kernels launched in phase optimizer (launch_state), except by clearing gradients, foreach and fused operators,
--   kernels of multi_tensor_apply, of torch.compile (triton_) and graphs. The rule applies to steps with at least 50 of them (a
--   foreach optimizer needs a few dozen at most, for any number of parameters) whose median is below 10 us (longer ones keep
--   the GPU busy). Claimed are idle_launch, idle_python and idle_launch_latency in gaps that end with one (idle_piece; not
--   after synchronizing calls), and half of the time of those below 10 us (busy_piece): that is how much of it goes into
--   starting and ending a kernel. Low 0.4, likely 0.85, high 0.95.
-- try: torch.optim.AdamW(..., fused=True), SGD and Adam likewise; foreach=True where fused is not available; torch.compile
--   around optimizer.step() for a custom optimizer.
-- references: https://docs.pytorch.org/docs/stable/optim.html
--   https://docs.pytorch.org/tutorials/recipes/compiling_optimizer.html
-- fix: {% set named = worst.optimizer | string | matched('^Optimizer[.]step#\\w+[.]step') -%} {% set optimizer =
--   named.removeprefix('Optimizer.step#').removesuffix('.step') or 'AdamW' -%} Update all parameters in one call:
--   `torch.optim.{{ optimizer }}(model.parameters(), ..., fused=True)`, or foreach=True where fused is not supported. {{
--   cut(worst.optimizer) }} launches {{ plural(worst.kernels, 'small kernel') }} per step, parameter by parameter. For a custom
--   optimizer: torch._foreach_mul_ and similar functions on lists of parameters {%- if program.can_compile %}, or
--   `torch.compile(optimizer.step)`{% endif %}.
-- confidence: {% if worst.optimizer | string | matched('^Optimizer[.]step#\\w+[.]step') %}high{% else %}medium{% endif %}
-- reason: {% if worst.optimizer | string | matched('^Optimizer[.]step#\\w+[.]step') %}The profiler marks the optimizer's step,
--   and each of its operators takes one parameter. {%- else %}Inferred from many short kernels in the phase named optimizer.
--   {%- endif %}
-- wrong-if: The range named optimizer contains more than the update, such as logging of gradients.
-- heading: Update all parameters in one call: use a fused or foreach optimizer
-- same-fix: fewer-launches
-- for: pytorch, training
-- needs: gpu, steps, launches, phases
-- low: 0.4
-- likely: 0.85
-- high: 0.95
-- threshold: kernels = 50: a foreach optimizer needs a few dozen kernels at most, for any number of parameters
-- threshold: short_ns = 10000: shorter than their launch (5 to 10 us); longer ones keep the GPU busy
-- threshold: kernel_share = 0.5: starting and ending a kernel takes about half of the time of one below 10 us
-- uses: idle, busy, kernel_name, counted
-- categories: idle_launch, idle_launch_latency, idle_python
with
launched as (
    select g.slice_id, g.step, g.name, g.dur, c.slice_id as call_id, c.operator_id, c.phase_id
    from launch_state as s
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join counted using (step)
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where
        s.trace_id = $trace_id
        and s.phase = 'optimizer'
        and g.device = $device
        and g.kind = 'kernel'
        and not g.is_communication
),

-- Clearing gradients is not an update; foreach and fused variants take many parameters at once.
single as (
    select l.slice_id, l.step, l.name, l.dur, l.call_id, coalesce(h.name, 'optimizer') as optimizer, o.name as operator
    from launched as l
    left join cpu_slice as h on h.trace_id = $trace_id and h.slice_id = l.phase_id
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
    where
        not regexp_matches(coalesce(h.name, ''), '(?i)zero.?grad')
        and not regexp_matches(coalesce(o.name, ''), '_foreach_|_fused_|^aten::zero_')
        and l.name not in (select name from kernel_name where regexp_matches(name, '(?i)multi_?tensor|fused|FillFunctor|triton_'))
        and l.call_id not in (select slice_id from cpu_slice where trace_id = $trace_id and kind = 'runtime' and contains(name, 'GraphLaunch'))
),

crowd as (
    select step, count(*) as kernels
    from single
    group by step
    having count(*) >= $kernels and median(dur) < $short_ns
),

small as (
    select s.*, c.kernels
    from single as s
    inner join crowd as c using (step)
)

select p.step, p.ts, p.dur, coalesce(s.operator, s.name) as name, s.call_id as slice_id, p.dur as claimed, p.cause, p.gap_id, null::bigint as busy_id, s.kernels, s.optimizer
from idle as p
inner join small as s on s.slice_id = p.next_slice_id
where
    p.cause in ('idle_launch', 'idle_python', 'idle_launch_latency')
    and p.drained_by is null
union all
select b.step, b.ts, b.dur, coalesce(s.operator, s.name), b.slice_id, b.ledger_dur * $kernel_share, b.category, null, b.slice_id, s.kernels, s.optimizer
from busy as b
inner join small as s using (slice_id)
where s.dur < $short_ns
