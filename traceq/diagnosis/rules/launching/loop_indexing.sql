-- Idle time in loops that take tensors apart element by element: runs of indexing operators under one parent, with the same few
-- operators after each.
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
        c.name,
        c.ts,
        c.ts_end,
        c.name in ('aten::select', 'aten::index', 'aten::__getitem__') as is_index,
        count(*) filter (c.name in ('aten::select', 'aten::index', 'aten::__getitem__')) over (
            partition by c.thread_id, coalesce(c.parent_id, -1) order by c.ts, c.slice_id rows unbounded preceding
        ) as round
    from cpu_slice as c
    inner join crowd as w on w.thread_id = c.thread_id and w.parent = coalesce(c.parent_id, -1)
    where c.trace_id = $trace_id and c.kind = 'op'
),

-- What each round consists of.
body as (
    select
        thread_id,
        parent,
        round,
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
    p.step,
    p.ts,
    p.dur,
    r.name,
    l.slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    r.rounds,
    r.operators as operators_per_round
from idle_piece as p
inner join cpu_slice as l on l.trace_id = p.trace_id and l.slice_id = p.launch_slice_id
asof inner join loop as r on r.thread_id = l.thread_id and l.ts >= r.ts
where
    p.trace_id = $trace_id
    and p.device = $device
    and p.cause in ('idle_launch', 'idle_python')
    and p.drained_by is null
    and l.ts < r.ts_end
