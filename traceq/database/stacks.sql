-- Macros for call stacks of the host: what was open on a thread, from the outermost slice on.

-- Per row of `starts` (start, a number; trace_id; slice_id; moment, ns or NULL) the cpu_slice and those around it that are open at that
-- moment, all of them where it is NULL: their names, the innermost of them, and the innermost line of the program.
create or replace macro _stack_from(starts) as table
with recursive
-- Found by `in`, apart from the chain below: a join with that would hold all slices at each step outward.
_named as (
    select trace_id, slice_id, parent_id, depth, kind, name, ts_end
    from cpu_slice
    where trace_id in (select trace_id from query_table(starts)) and slice_id in (select slice_id from query_table(starts))
    union
    select trace_id, slice_id, parent_id, depth, kind, name, ts_end
    from cpu_slice
    where trace_id in (select trace_id from query_table(starts)) and slice_id in (select distinct parent_id from _named)
),

_around as (
    select s.start, s.trace_id, s.moment, c.slice_id, c.parent_id, c.depth, c.kind, c.name, c.ts_end, 0 as outward
    from query_table(starts) as s
    inner join _named as c on c.trace_id = s.trace_id and c.slice_id = s.slice_id
    union all
    select a.start, a.trace_id, a.moment, c.slice_id, c.parent_id, c.depth, c.kind, c.name, c.ts_end, a.outward + 1
    from _around as a
    -- Less deep each time, for an end: in a database that somebody changed, a slice could be around itself.
    inner join _named as c on c.trace_id = a.trace_id and c.slice_id = a.parent_id and (c.depth < a.depth or a.depth is null)
)

select
    start,
    min_by(slice_id, outward) as innermost_id,
    list(name order by outward desc) as frames,
    min_by(name, outward) filter (_is_line(kind, name)) as line
from _around
where moment is null or ts_end > moment
group by start;

create or replace macro stack_at(moments) as table
with
_moment as materialized (
    select row_number() over () as start, * from query_table(moments)
),

-- Of slices that start together the innermost.
_started as (
    select trace_id, thread_id, ts, max_by(slice_id, depth) as slice_id
    from cpu_slice
    semi join _moment using (trace_id, thread_id)
    where depth is not null
    group by trace_id, thread_id, ts
),

_last as materialized (
    select m.start, m.trace_id, s.slice_id, m.ts as moment
    from _moment as m
    asof inner join _started as s on s.trace_id = m.trace_id and s.thread_id = m.thread_id and s.ts <= m.ts
)

select
    m.* exclude (start),
    s.innermost_id,
    s.frames,
    array_to_string(s.frames, ' > ') as stack,
    s.line,
    b.stack as backtrace
from _moment as m
left join _stack_from('_last') as s using (start)
left join backtrace as b on b.trace_id = m.trace_id and b.slice_id = s.innermost_id;
comment on macro table stack_at is 'One row per row of moments, which has the columns trace_id, thread_id and ts: what the thread was in at that moment. Columns: those of moments; innermost_id, the innermost cpu_slice that was open; frames, the names of all that were open from the outermost on; stack, the same as text, with > between; line, the innermost Python frame of them that is of a file neither of PyTorch nor of the standard library; backtrace, the functions that the innermost was called by (nsys; see the table). NULL for none.';

create or replace macro stack_of(slices) as table
with recursive
_wanted as materialized (
    select row_number() over () as start, * from query_table(slices)
),

_work as materialized (
    select w.start, g.trace_id, g.pid, g.launch_id, g.graph_node_id
    from _wanted as w
    inner join gpu_slice as g on g.trace_id = w.trace_id and g.slice_id = w.slice_id
),

-- From the nodes of graphs that ran to those that were captured.
_node as (
    select distinct trace_id, pid, graph_node_id as ran, graph_node_id as node
    from _work
    where graph_node_id is not null
    union
    select o.trace_id, o.pid, o.ran, n.original_node_id
    from _node as o
    inner join graph_node as n on n.trace_id = o.trace_id and n.pid is not distinct from o.pid and n.graph_node_id = o.node
    where n.original_node_id is not null
),

_captured as materialized (
    select o.trace_id, o.pid, o.ran, n.thread_id, n.ts
    from _node as o
    inner join graph_node as n on n.trace_id = o.trace_id and n.pid is not distinct from o.pid and n.graph_node_id = o.node
    where n.original_node_id is null
    qualify row_number() over (partition by o.trace_id, o.pid, o.ran order by n.ts) = 1
),

_at_capture as materialized (
    select w.start, s.innermost_id, s.frames, s.line, s.backtrace
    from stack_at('_captured') as s
    inner join _work as w on w.trace_id = s.trace_id and w.pid is not distinct from s.pid and w.graph_node_id = s.ran
    where s.frames is not null
),

_at_call as materialized (
    select w.start, w.trace_id, w.slice_id, null::bigint as moment
    from _wanted as w
    semi join cpu_slice as c on c.trace_id = w.trace_id and c.slice_id = w.slice_id
    union all
    select start, trace_id, launch_id, null from _work
)

select
    w.* exclude (start),
    coalesce(c.innermost_id, s.innermost_id) as innermost_id,
    coalesce(c.frames, s.frames) as frames,
    array_to_string(coalesce(c.frames, s.frames), ' > ') as stack,
    coalesce(c.line, k.line, s.line) as line,
    if(c.frames is null, b.stack, c.backtrace) as backtrace,
    c.frames is not null as is_captured
from _wanted as w
left join _at_capture as c using (start)
left join _stack_from('_at_call') as s using (start)
left join graph_kernel as k on k.trace_id = w.trace_id and k.slice_id = w.slice_id
left join backtrace as b on b.trace_id = w.trace_id and b.slice_id = s.innermost_id;
comment on macro table stack_of is 'One row per row of slices, which has the columns trace_id and slice_id, of cpu_slice or gpu_slice: a slice of the host with what is around it, or what launched GPU work. Columns: those of slices; innermost_id, frames, stack, line and backtrace as in stack_at, line of a kernel of a graph also from graph_kernel; is_captured, whether they are of the time when the node of a CUDA graph was captured and not of the launch of the graph (nsys, of graphs made while it recorded).';
