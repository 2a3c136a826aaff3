-- Allocations that one line makes in each step and nobody releases.
-- title: A line allocates memory in every step that is never released
-- finds: Lines of the program whose allocations from at least three steps, and from nearly all steps since the first of them,
--   still exist when the memory snapshot is taken.
-- matters: After hours, the run fails with out of memory. Typical causes are losses kept with their graph, lists of outputs,
--   and caches.
-- measured: Allocations without a release (allocation.event_end), by line and step (allocation.step, else allocation.round): at
--   least 3 steps have one, and at least 90 % of the steps since the first of them, with a median of at least 1 MiB a step.
-- try: Keep numbers, not tensors: loss.item() or loss.detach(); clear lists and caches at the end of a step.
-- references: https://docs.pytorch.org/docs/stable/notes/faq.html
--   https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
-- remark: {% if facts.owner %}{{ cut(facts.owner) }} allocates {{ short_size(facts.step_bytes) }} a step that are never
--   released: {{ size(facts.leaked_bytes) }} from {{ facts.leaking_steps }} steps still exist. {%- endif %}
-- key: {{ facts.owner }}
-- fix: Find out what keeps the result of {{ cut(facts.owner) }} from step to step {%- if facts.trains and program.trains %}:
--   `total += loss` keeps each graph, `total += loss.item()` or `loss.detach()` does not {%- endif %}.
-- for: pytorch
-- needs: allocations
-- unknown: {% if rows and facts.all_steps < enough_steps %}neither marks nor stacks separate at least three steps of the
--   history {%- endif %}
-- each: row
-- threshold: enough_steps = 3: two steps that differ are no trend
-- threshold: least_bytes = 1048576: less is counters and buffers
-- remarks: yes
with
placed as (
    select a.device, a.requested_bytes, a.event_end, a.is_lost, s.owner, coalesce(a.step, a.round) as step
    from allocation as a
    inner join allocation_stack as s on s.trace_id = a.trace_id and s.stack_id = a.stack_id
    where a.trace_id = $trace_id and a.event is not null and s.owner is not null
),

known as (select count(distinct step) as all_steps, max(step) as last_step from placed),

kept as (
    select device, owner, step, sum(requested_bytes) as bytes
    from placed
    where event_end is null and not is_lost and step is not null
    group by all
),

leaking as (
    select
        k.device,
        k.owner,
        count(*) as leaking_steps,
        median(k.bytes) as step_bytes,
        sum(k.bytes)::bigint as leaked_bytes
    from kept as k
    cross join known as n
    group by all
    having count(*) >= $enough_steps and count(*) >= 0.9 * (any_value(n.last_step) - min(k.step) + 1) and median(k.bytes) >= $least_bytes
)

select l.*, n.all_steps, exists (from allocation_stack where trace_id = $trace_id and phase = 'backward') as trains
from known as n
left join leaking as l on true
order by l.leaked_bytes desc, l.owner
limit 3
