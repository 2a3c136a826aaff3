-- Nodes of the dependency graph of trace $trace_id as a simulator takes them: the host's time before a call (part 0), GPU work (1) and
-- the call itself (2), each with the nodes that must have ended before. What ended earlier is written earlier, and no edge leads back.
-- A node begins when the last of these ends, so that the graph lasts as long as the recording: what nothing explains is the node's.
-- Times count from the first counted step, ns.
with
edge as (from dependency where trace_id = $trace_id),

opening as (
    select min(s.ts) as ts
    from replay_step as r
    inner join step as s on s.trace_id = r.trace_id and s.step = r.step
    where r.trace_id = $trace_id
),

call as (
    select c.slice_id, c.name, c.ts, c.ts_end
    from cpu_slice as c
    semi join (
        select source_id as slice_id from edge where kind in ('thread', 'hand_over', 'launch')
        union all
        select target_id from edge where kind not in ('launch', 'stream', 'copy_engine', 'event', 'graph', 'tensor')
    ) as e using (slice_id)
    where c.trace_id = $trace_id
),

work as (
    select g.slice_id, g.name, g.ts, g.ts_end, g.device, g.stream, c.op, c.bytes, c.group_name
    from gpu_slice as g
    semi join (
        select target_id as slice_id from edge where kind = 'launch'
        union all
        select source_id from edge where kind not in ('thread', 'hand_over', 'launch')
    ) as e using (slice_id)
    left join collective_slice as c on c.trace_id = g.trace_id and c.slice_id = g.slice_id
    where g.trace_id = $trace_id
),

node as (
    select
        slice_id * 3 as id, 0 as part, 'host before ' || name as name, ts as ts_end, 0 as dur,
        null::integer as device, null::bigint as stream, null as op, null::bigint as bytes, null as group_name
    from call
    union all
    select slice_id * 3 + 1, 1, name, ts_end, ts_end - ts, device, stream, op, bytes, group_name from work
    union all
    select slice_id * 3 + 2, 2, name, ts_end, ts_end - ts, null, null, null, null, null from call
),

needed as (
    select target_id * 3 as id, source_id * 3 + 2 as source from edge where kind in ('thread', 'hand_over')
    union all
    select slice_id * 3 + 2, slice_id * 3 from call
    union all
    select target_id * 3 + 1, source_id * 3 from edge where kind = 'launch'
    union all
    select target_id * 3 + 1, source_id * 3 + 1 from edge where kind in ('stream', 'copy_engine', 'event', 'graph', 'tensor')
    union all
    select target_id * 3 + 2, source_id * 3 + 1 from edge where kind in ('synchronization', 'blocking_copy', 'allocation')
    union all
    -- room in the queue is made when the slice starts: when what is before it on its stream has ended
    select q.target_id * 3 + 2, s.source_id * 3 + 1
    from edge as q
    inner join edge as s on s.kind = 'stream' and s.target_id = q.source_id
    where q.kind = 'queue'
),

kept as (
    select n.id, list(distinct n.source order by n.source) as sources, max(s.ts_end) as since
    from needed as n
    inner join node as t on t.id = n.id
    inner join node as s on s.id = n.source
    where (s.ts_end, s.part, s.id) < (t.ts_end, t.part, t.id)
    group by n.id
)

select
    n.id, n.part, n.name, n.dur, n.device, n.stream, n.op, n.bytes, n.group_name,
    greatest(coalesce(k.since, if(n.part = 0, o.ts, n.ts_end - n.dur)), o.ts) - o.ts as ts,
    greatest(n.ts_end, o.ts) - o.ts as ts_end,
    coalesce(k.sources, []) as sources
from node as n
cross join opening as o
left join kept as k on k.id = n.id
order by n.ts_end, n.part, n.id
