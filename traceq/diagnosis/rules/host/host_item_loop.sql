-- The training thread's time in loops that take single elements of tensors, in a trace without GPU work.
-- title: A loop over the elements of a tensor
-- finds: Python loops that read or pick elements one by one (.item(), x[i], for row in x), in traces without GPU activity.
-- matters: Each element costs a few operators of some microseconds each, and the Python around them. One operator on the whole
--   tensor pays that once.
-- measured: Runs of at least 16 operators that take elements (item, select, unbind, index, is_nonzero) outside the backward
--   pass and the optimizer, with at most 8 other operators between two of them, and the rest of the range around them if they
--   are most of it; own time of the training thread (host_time). And the nodes of the backward pass that the loop's operators
--   added, by their sequence numbers: the node of one element creates a gradient as large as the whole tensor and adds it to
--   the others. Shares: for Python, operators that take elements, and their nodes, low 0.5, likely and high 1; for other
--   operators, whose work still has to be done, low 0, likely 0.5, high 1.
-- try: One operator on the whole tensor: comparisons with sum(), torch.bincount, torch.gather; .tolist() once, before the loop.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/generated/torch.bincount.html
-- heading: Replace the loop over elements{% if worst.range is not none %} in {{ worst.range | cut }}{% endif %} by one operator: {{
--   percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %}
-- fix: Compute on the whole tensor (`(guess == label).sum()`, `torch.bincount`), or read all values at once: `values =
--   tensor.tolist()`. The loop reads {{ plural(worst.reads, 'element') }} one by one, {{ per_step(claimed_ns) }}.
-- confidence: medium
-- reason: The loop's operators are in the trace; how much time would remain with the whole tensor is not.
-- wrong-if: Each iteration of the loop needs the result of the one before.
-- for: pytorch
-- needs: steps, host_alone, operators
-- low: 0.5
-- likely: 1
-- threshold: least_reads = 16: a step reads its loss and some metrics; more than that are read in a loop
-- threshold: most_between = 8: more operators than that between two elements are work of their own
-- threshold: most_of_range = 0.5: where the loop is the larger part of a range, the range is the loop
-- uses: host_time, host_operator, backward_node
-- only-with: cpu_slice: kind = 'op' and name in ('aten::item', 'aten::select', 'aten::unbind', 'aten::index', 'aten::is_nonzero')
with
taken as (
    select *, number - lag(number) over (partition by step order by number) as distance
    from host_operator
    where name in ('aten::item', 'aten::select', 'aten::unbind', 'aten::index', 'aten::is_nonzero') and phase not in ('backward', 'optimizer')
),

run as (
    select step, island, min(ts) as ts, max(ts_end) as ts_end, count(*) as reads, mode(annotation_id) as annotation_id
    from (
        select *, count(if(distance is null or distance > $most_between + 1, 1, null)) over (partition by step order by number) as island
        from taken
    )
    group by step, island
    having count(*) >= $least_reads
),

loop as (
    select
        r.step,
        if(g.ts is null, r.ts, least(g.ts, r.ts)) as ts,
        if(g.ts is null, r.ts_end, greatest(g.ts_end, r.ts_end)) as ts_end,
        r.reads,
        g.name as range
    from run as r
    left join cpu_slice as g
        on g.trace_id = $trace_id
        and g.slice_id = r.annotation_id
        and r.ts_end - r.ts >= $most_of_range * g.dur
        and not regexp_matches(g.name, '^(ProfilerStep#|traceq\.step)')
),

-- what the loop added to the backward pass; between two nodes of the loop the engine is at it, too
undone as (
    select
        o.step,
        n.ts,
        if(lead(n.is_loop) over w and lead(n.number) over w = n.number + 1, lead(n.ts) over w, n.ts_end) as ts_end,
        n.reads, n.range, n.takes
    from (
        select
            n.ts, n.ts_end, n.number,
            h.ts < l.ts_end as is_loop,
            l.reads,
            l.range,
            regexp_matches(n.name, ': (Select|Unbind|Index|Slice|Squeeze|Unsqueeze|View|Alias)Backward') as takes
        from backward_node as n
        inner join host_operator as h using (slice_id)
        asof left join loop as l on h.ts >= l.ts
    ) as n
    asof inner join (select step, ts from step where trace_id = $trace_id and excluded is null) as o on n.ts >= o.ts
    window w as (order by n.ts)
    qualify n.is_loop
),

around as (
    select step, ts, ts_end, reads, range, false as takes from loop
    union all
    from undone
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    if(x.takes, 1, 0) as goes_low,
    if(x.takes, 1, 0.5) as goes,
    l.reads,
    l.range
from host_time as p
asof inner join around as l on p.ts >= l.ts
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
cross join lateral (
    select
        l.takes
        or coalesce(c.kind, '') <> 'op'
        or starts_with(c.name, 'autograd::engine')
        or regexp_matches(
            c.name,
            '^aten::(item|_local_scalar_dense|select|unbind|index|index_put_|_index_put_impl_|as_strided|is_nonzero|slice|squeeze|unsqueeze|view|alias|detach|to|_to_copy|empty|empty_strided|copy_|lift_fresh|fill_|eq|ne|lt|gt|le|ge)$'
        ) as takes
) as x
where p.ts < l.ts_end and p.category <> 'data'
