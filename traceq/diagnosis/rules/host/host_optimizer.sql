-- The training thread's time in an optimizer that updates parameters one by one, in a trace without GPU work.
-- title: The optimizer updates parameters one by one on the CPU
-- finds: An optimizer that runs several operators for each parameter separately, in traces without GPU activity.
-- matters: Each operator costs a call of some microseconds and a pass over memory; fused=True makes one pass over all
--   parameters.
-- measured: Own time of the training thread (host_time) in the optimizer, without clearing gradients, if it runs at least 50
--   operators a step and none of them takes many parameters (_foreach_, _fused_). Shares: Python between operators disappears
--   (low, likely and high 1); for operators low 0, likely 1 - 1/k with k different ones for each parameter, since one pass of k
--   remains, high 1.
-- try: torch.optim.AdamW(..., fused=True), SGD and Adagrad likewise; torch.compile(optimizer.step) for others.
-- references: https://docs.pytorch.org/docs/stable/optim.html
--   https://docs.pytorch.org/tutorials/recipes/compiling_optimizer.html
-- heading: Update all parameters in one call: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a
--   step{% endif %} is spent in the optimizer
-- fix: {% set optimizer = (worst.optimizer | string | matched('^Optimizer[.]step#\\w+')).removeprefix('Optimizer.step#') or
--   'AdamW' -%} Update all parameters in one call: `torch.optim.{{ optimizer }}(model.parameters(), ..., fused=True)`. {% if
--   program.can_compile %}If it has no fused variant on the CPU: `torch.compile(optimizer.step)`.{% endif %} The optimizer runs
--   {{ plural(worst.operators, 'operator') }} a step, {{ worst.kinds }} for each parameter.
-- confidence: {% if worst.optimizer | string | matched('^Optimizer[.]step#') %}high{% else %}medium{% endif %}
-- reason: The optimizer's step is marked, and each of its operators takes one parameter.
-- wrong-if: The range contains more than the update, such as logging of gradients.
-- same-fix: fewer-launches
-- for: pytorch, training
-- needs: steps, host_alone, operators
-- low: 1
-- threshold: operators = 50: a foreach optimizer needs a few dozen operators at most, for any number of parameters
-- threshold: least_common = 0.25: an operator of the update is run for each parameter, others now and then
-- uses: host_time, host_operator
with
of_update as (
    select *
    from host_operator
    where phase = 'optimizer' and not regexp_matches(coalesce(phase_name, ''), '(?i)zero.?grad')
),

counted_name as (
    select step, name, count(*) as times
    from of_update
    group by step, name
),

crowd as (
    select
        step,
        sum(times) as operators,
        count(*) filter (times >= $least_common * most) as kinds
    from (select *, max(times) over (partition by step) as most from counted_name)
    group by step
    having sum(times) >= $operators and not bool_or(regexp_matches(name, '_foreach_|_fused_'))
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    if(p.category in ('operator', 'synchronization'), 0, 1) as goes_low,
    if(p.category in ('operator', 'synchronization'), 1 - 1 / k.kinds, 1) as goes,
    k.operators, k.kinds, m.name as optimizer
from host_time as p
inner join crowd as k on k.step = p.step
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
left join host_name as own on own.trace_id = $trace_id and own.kind = c.kind and own.name = c.name
left join cpu_slice as m on m.trace_id = $trace_id and m.slice_id = if(own.phase is not null, c.slice_id, c.phase_id)
where p.phase = 'optimizer' and not regexp_matches(coalesce(m.name, ''), '(?i)zero.?grad')
