-- Idle time in loops that take tensors apart element by element: runs of indexing operators under one parent, with the same few
-- operators after each.
-- title: A loop indexes tensors element by element
-- finds: Ten or more aten::select or aten::index operators in a row under one parent, each followed by the same few operators:
--   a Python loop over a dimension of a tensor.
-- matters: Each iteration launches kernels that do next to nothing, and the GPU waits for the host to get to the next one. One
--   operator over the whole dimension costs as much as one iteration.
-- measured: Operators of cpu_slice, in order under one parent: an iteration begins at an indexing operator, and a run is at
--   least 10 equal iterations in a row (as in PyTorch's own detector of this pattern) of at most 8 operators each (more are
--   layers of a model, not elements). Claimed are the pieces idle_launch and idle_python (idle_piece) in gaps that end with a
--   launch from such a run, except after synchronizing calls, which have their own rules. Low 0.4, likely 1 (one iteration of
--   ten remains), high 1.
-- try: Index once with a tensor of indices, or use the whole tensor: x[idx], torch.gather, index_select, torch.stack after
--   unbind, torch.vmap. For a recurrence, in which each iteration needs the one before: torch.compile, or a fused kernel.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/generated/torch.vmap.html
-- fix: Replace the loop by one operation on the whole tensor. {{ plural(worst.rounds, 'iteration') }} of {{ worst.name }} and
--   {{ plural(worst.operators_per_round - 1, 'more operator') }} follow one another. Instead of `for i in range(n): y[i] =
--   f(x[i])` write `y = f(x)`, `x[indices]` or `torch.vmap(f)(x)`; to take all parts at once, `x.unbind(0)`. If each iteration
--   needs the one before, compile the loop: `{{ 'torch.compile' if program.can_compile else 'torch.jit.script' }}(step)`.
-- confidence: medium
-- reason: Inferred from identical sequences of operators that begin with an indexing operator.
-- wrong-if: The iterations are layers of a model, each of which happens to index once.
-- heading: Replace the loop by one operation on the whole tensor
-- for: pytorch
-- needs: gpu, steps, launches, operators
-- low: 0.4
-- likely: 1.0
-- threshold: rounds = 10: ten equal rounds in a row, as PyTorch's own detector of this pattern has it
--   (torch.profiler, for-loop indexing)
-- threshold: operators = 8: more operators in a round are layers of a model, not elements
-- uses: idle
-- categories: idle_launch, idle_python
-- only-with: host_slice_name: kind = 'op' and name in ('aten::select', 'aten::index', 'aten::__getitem__')
with
-- Parents with enough indexing operators; at the top the innermost range stands for the parent.
crowd as (
    select thread_id, coalesce(parent_id, -1) as parent
    from cpu_slice
    where trace_id = $trace_id and kind = 'op' and name in ('aten::select', 'aten::index', 'aten::__getitem__')
    group by thread_id, parent
    having count(*) >= $rounds
),

sibling as (
    select
        c.slice_id,
        c.thread_id,
        coalesce(c.parent_id, -1) as parent,
        c.name, c.ts, c.ts_end,
        c.name in ('aten::select', 'aten::index', 'aten::__getitem__') as is_index,
        count(if(c.name in ('aten::select', 'aten::index', 'aten::__getitem__'), 1, null)) over (
            partition by c.thread_id, coalesce(c.parent_id, -1) order by c.ts, c.slice_id rows unbounded preceding
        ) as round
    from cpu_slice as c
    inner join crowd as w on w.thread_id = c.thread_id and w.parent = coalesce(c.parent_id, -1)
    where c.trace_id = $trace_id and c.kind = 'op'
),

-- What each round consists of.
body as (
    select
        thread_id, parent, round,
        min(ts) as ts,
        max(ts_end) as ts_end,
        min_by(slice_id, ts) as slice_id,
        min_by(name, ts) as indexing,
        count(*) as operators,
        list(name order by ts, slice_id) as names
    from sibling
    where round > 0
    group by thread_id, parent, round
),

-- The last round of a run may have other operators behind it: a round belongs to the run before it by its indexing operator alone.
run as (
    select thread_id, parent, number, min(ts) as ts, max(ts_end) as ts_end, count(*) as rounds, any_value(indexing) as name, any_value(operators) as operators
    from (
        select *, sum(is_other::integer) over (partition by thread_id, parent order by round rows unbounded preceding) as number
        from (
            select *, coalesce(names <> lag(names) over (partition by thread_id, parent order by round), true) as is_other
            from body
        )
    )
    where operators <= $operators
    group by thread_id, parent, number
    having count(*) >= $rounds
),

-- The outermost of them.
loop as (
    select *
    from (
        select
            *,
            max(ts_end) over (
                partition by thread_id order by ts, ts_end desc rows between unbounded preceding and 1 preceding
            ) as covered
        from run
    )
    where covered is null or ts >= covered
)

select
    p.step, p.ts, p.dur, r.name, l.slice_id, p.dur as claimed, p.cause, p.gap_id,
    r.rounds,
    r.operators as operators_per_round
from idle as p
inner join cpu_slice as l on l.trace_id = p.trace_id and l.slice_id = p.launch_slice_id
asof inner join loop as r on r.thread_id = l.thread_id and l.ts >= r.ts
where
    p.cause in ('idle_launch', 'idle_python')
    and p.drained_by is null
    and l.ts < r.ts_end
