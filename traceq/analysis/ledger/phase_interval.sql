-- Where nothing names forward, backward and optimizer: stretches of a thread in these phases, from the numbers of autograd's
-- graph. PyTorch gives an operator that adds to the graph the number of its node (Sequence number), and the node of the backward
-- pass has the same: what a backward pass undoes was forward. Without a backward pass in the trace nothing is said: gradients
-- may be switched on in inference, too.
-- makes: _phase_interval

create temp type if not exists host_phase as enum ('other', 'data', 'forward', 'backward', 'optimizer');

create temp table _graph_node as
with
backward_name as materialized (
    select name from host_name where kind = 'op' and phase = 'backward'
),

backward as (
    select slice_id from cpu_slice where name in (from backward_name)
),

numbered as (
    select
        t.pid, c.thread_id, c.ts, c.ts_end,
        c.name in (from backward_name) as is_backward,
        try_cast(try(json_extract_string(c.args, '$."Sequence number"')) as bigint) as number
    from cpu_slice as c
    inner join thread as t using (thread_id)
    where
        c.kind = 'op'
        -- What a node of the backward pass runs inside has numbers of its own. A forward pass that is marked counts all the same:
        -- it ends the backward pass before it.
        and (c.name in (from backward_name) or c.phase_id is null or c.phase_id not in (from backward))
        and contains(c.args, '"Sequence number"')
        and exists (from backward_name)
),

undone as (
    select pid, number, max(ts) as ts from numbered where is_backward group by pid, number
),

-- The number is the next one when an operator starts: what adds no node, as the copy of a batch, has that of the operator after it.
adding as (
    select n.pid, n.number, max(n.ts) as ts
    from numbered as n
    inner join undone as u on u.pid is not distinct from n.pid and u.number = n.number
    where not n.is_backward and n.ts_end <= u.ts
    group by n.pid, n.number
)

select n.pid, n.thread_id, n.ts, n.ts_end, n.is_backward
from numbered as n
left join undone as u on u.pid is not distinct from n.pid and u.number = n.number
left join adding as a on a.pid is not distinct from n.pid and a.number = n.number
where (n.is_backward and n.number is not null) or n.ts_end between a.ts and u.ts
order by n.pid, n.ts, n.ts_end desc;

-- Forward lasts from the first to the last operator between two passes backward, and backward from its first to its last node.
create temp table _phase_interval as
with
-- The nodes lie in the order of process and time: so counts run through. Those of a pass have as many of the other kind before them.
turned as (
    select *, sum(is_backward::integer) over (rows unbounded preceding) as backward, row_number() over () as number
    from _graph_node
),

pass as (
    select
        pid, thread_id, is_backward,
        min(ts) as ts,
        max(ts_end) as ts_end
    from turned
    group by pid, thread_id, is_backward, if(is_backward, number - backward, backward)
),

-- The thread of the forward pass waits in backward() for the threads that run it.
waiting as (
    select distinct f.thread_id, b.ts, b.ts_end
    from pass as b
    inner join (select distinct pid, thread_id from pass where not is_backward) as f
        on f.pid is not distinct from b.pid and f.thread_id <> b.thread_id
    where b.is_backward
),

-- Not norms and scaling: gradients are clipped with these before.
update_call as (
    select c.thread_id, b.ts as after, c.ts, c.ts_end
    from cpu_slice as c
    asof inner join pass as b on b.thread_id = c.thread_id and c.ts >= b.ts
    where
        c.kind = 'op'
        and c.phase_id is null
        and regexp_matches(c.name, '^aten::_(foreach_(add|addcmul|addcdiv|lerp)|fused_(adamw?|sgd|adagrad))_?$')
        and c.ts >= b.ts_end
),

phase as (
    select thread_id, if(is_backward, 'backward', 'forward') as phase, ts, ts_end from pass
    union
    select thread_id, 'backward', ts, ts_end from waiting
    union
    select thread_id, 'optimizer', min(ts), max(ts_end) from update_call group by thread_id, after
)

select
    thread_id,
    phase::host_phase as phase,
    ts,
    -- one at a time
    least(max(ts_end), lead(ts) over (partition by thread_id order by ts)) as ts_end
from phase
group by thread_id, phase, ts;

drop table _graph_node;
