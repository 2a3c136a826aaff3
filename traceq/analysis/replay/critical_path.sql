-- critical_path: the segments with what they are; host stretches cut where the innermost slice changes.
create or replace temp table _path_host as
select interval_id, ts, ts_end, thread_id, slice_id, activity
from _path_piece
where (interval_id, ts) not in (select (interval_id, ts) from _path_again)
union all
select a.interval_id, p.ts, p.ts_end, p.thread_id, p.slice_id, p.activity::varchar
from _host_piece as p
inner join _path_again as a on a.again_id = p.interval_id;

-- Slices of the host that are on the path, or launched what is, and the operators around them.
create or replace temp table _path_slice_id as
select slice_id from _path_stretch
union
select slice_id from _path_host
union
select launch_id from gpu_slice where slice_id in (select slice_id from _path_stretch);

insert into _path_slice_id
select distinct operator_id
from cpu_slice
where slice_id in (from _path_slice_id) and operator_id is not null;

-- Names by numbers: in millions of segments, none of which is written before all are there, they would fill the memory.
create or replace temp table _path_name as
select name, row_number() over () as number
from (
    select name from cpu_slice where slice_id in (from _path_slice_id)
    union
    select name from gpu_slice where slice_id in (select slice_id from _path_stretch)
);

create or replace temp table _path_slice as
select c.slice_id, n.number as name, c.operator_id, c.kind = 'op' as is_operator
from cpu_slice as c
inner join _path_name as n using (name)
where c.slice_id in (from _path_slice_id);

create or replace temp table _path_work as
with
gpu as (
    select p.interval_id, g.slice_id, g.device, g.stream, n.number as name, o.name as operator,
        case
            when g.is_communication then 'communication'
            when g.kind = 'memcpy' then if(g.copy_kind in ('h2d', 'd2h'), 'copy_' || g.copy_kind, 'copy_other')
            when g.kind = 'memset' then 'memset'
            else 'compute'
        end as category
    from _path_stretch as p
    inner join gpu_slice as g on g.slice_id = p.slice_id
    inner join _path_name as n using (name)
    left join _path_slice as l on l.slice_id = g.launch_id
    left join _path_slice as o on o.slice_id = l.operator_id
    where p.kind <> 'host'
)

select
    p.interval_id, p.step, p.ts, p.ts_end, p.kind, p.edge,
    case
        when p.kind in ('gpu', 'transfer') then g.category
        when p.edge in ('launch', 'stream', 'start') then 'idle_launch_latency'
        when p.edge in ('event', 'graph', 'copy_engine') then 'idle_dependency'
        else 'idle_sync'
    end as cause,
    p.slice_id, p.thread_id, g.device, g.stream, coalesce(g.name, c.name) as name, coalesce(g.operator, o.name) as operator,
    p.unexplained
from _path_stretch as p
left join gpu as g using (interval_id)
left join _path_slice as c on c.slice_id = p.slice_id and g.slice_id is null
left join _path_slice as o on o.slice_id = c.operator_id
where p.kind <> 'host' or p.thread_id is null or p.thread_id < 0
union all
select
    p.interval_id, p.step, h.ts, h.ts_end, 'host', null,
    coalesce(i.cause, 'idle_unattributed'),
    h.slice_id, h.thread_id, null, null, c.name, if(c.is_operator, c.name, o.name), 0
from _path_host as h
inner join _path_stretch as p using (interval_id)
left join _idle_cause as i on i.activity = h.activity
left join _path_slice as c on c.slice_id = h.slice_id
left join _path_slice as o on o.slice_id = c.operator_id;

insert into critical_path by name
select
    $trace_id as trace_id,
    row_number() over (order by ts, interval_id) - 1 as segment,
    step, ts, ts_end - ts as dur, kind, edge,
    if(kind = 'host' and cause is null, 'idle_unattributed', cause) as cause,
    slice_id, thread_id, device, stream, n.name, o.name as operator,
    unexplained
from _path_work as w
left join _path_name as n on n.number = w.name
left join _path_name as o on o.number = w.operator
where ts_end > ts
order by ts, interval_id;
