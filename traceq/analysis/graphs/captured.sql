-- What launched kernels while graphs were captured or, where $with_eager, without graphs: of a capture beside a trace, or of the trace
-- itself. captured.py reads _captured_kernel, _captured_operator and _captured_node.
-- makes: _captured_call, _captured_node, _captured_operator

-- A capture: from the end of the call that begins it to the start of the one that ends it, in one process.
create temp table _graph_capture as
with
mark as (
    select t.pid, c.slice_id, c.annotation_id, c.ts, c.ts_end, contains(c.name, 'Begin') as begins
    from cpu_slice as c
    inner join thread as t using (thread_id)
    where c.kind = 'runtime' and regexp_matches(c.name, 'Stream(Begin|End)Capture')
),

-- Of two that begin before one ends it is not known which call is whose.
followed as (
    select *, lead(ts) over same as next_ts, lead(begins) over same as next_begins, lag(begins) over same as last_begins
    from mark
    window same as (partition by pid order by ts, slice_id)
)

select f.pid, f.ts_end as ts, f.next_ts as ts_end, a.name as annotation
from followed as f
left join cpu_slice as a on a.slice_id = f.annotation_id
where f.begins and not f.next_begins and f.last_begins is not true;

-- Of a call of the driver inside one of the runtime that launches, too, the outer one.
create temp table _kernel_call as
with
named as materialized (
    select name from cpu_slice where kind = 'runtime' group by name having regexp_matches(name, '(?i)launch\w*kernel')
)

select c.slice_id, c.thread_id, t.pid, c.ts, c.ts_end, c.operator_id, c.line_id, c.args
from cpu_slice as c
inner join thread as t using (thread_id)
left join cpu_slice as p on p.slice_id = c.parent_id and p.kind = 'runtime' and p.name in (from named)
where c.kind = 'runtime' and c.name in (from named) and p.slice_id is null and ($with_eager or exists (from _graph_capture));

create temp table _captured_call as
with
captured as (
    select
        {'ts': g.ts, 'pid': g.pid} as capture,
        g.annotation,
        c.slice_id,
        try(json_extract_string(c.args, '$.kernel')) as name,
        null::varchar as grid
    from _kernel_call as c
    asof inner join _graph_capture as g on g.pid is not distinct from c.pid and c.ts >= g.ts
    -- what ran meanwhile was not captured
    where c.ts < g.ts_end and c.slice_id not in (select launch_id from gpu_slice where launch_id is not null)
),

eager as (
    select null as capture, null::varchar as annotation, g.launch_id as slice_id, g.name, if(g.grid_x is null, null, concat_ws(',', g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z)) as grid
    from gpu_slice as g
    where g.kind = 'kernel' and $with_eager
)

select
    if(k.capture is null, null, dense_rank() over (order by k.capture nulls last) - 1) as graph,
    row_number() over (order by k.capture nulls last, c.ts, c.slice_id) - 1 as number,
    k.annotation, k.name, k.grid,
    c.* exclude (args)
from (from captured union all by name from eager) as k
inner join _kernel_call as c using (slice_id);

-- Calls that made nodes of graphs, where the trace tells (nsys): those of a copy of a graph by the node they were copied from.
create temp table _captured_node as
with recursive origin as (
    select pid, graph_node_id, graph_node_id as at from graph_node
    union
    select o.pid, o.graph_node_id, n.original_node_id
    from origin as o
    inner join graph_node as n on n.pid is not distinct from o.pid and n.graph_node_id = o.at
    where n.original_node_id is not null
)

select distinct o.graph_node_id, c.number
from origin as o
inner join graph_node as n on n.pid is not distinct from o.pid and n.graph_node_id = o.at
asof inner join _captured_call as c on c.thread_id = n.thread_id and n.ts >= c.ts
where n.ts <= c.ts_end and c.graph is not null;

create temp table _captured_operator as
with recursive
around as (
    select slice_id, operator_id, name, args
    from cpu_slice
    where slice_id in (select operator_id from _captured_call)
    union
    select c.slice_id, c.operator_id, c.name, c.args
    from around as a
    inner join cpu_slice as c on c.slice_id = a.operator_id
)

select
    slice_id, operator_id, name,
    -- what follows is of the one call
    if(
        json_valid(args),
        json_merge_patch(args, '{"Ev Idx":null,"Record function id":null,"External id":null,"Sequence number":null,"Fwd thread id":null}'),
        null
    )::varchar as args
from around;
