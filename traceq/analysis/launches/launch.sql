-- Joins each staged GPU slice with the call that launched it, and says whether it is communication.
-- reads: communication_name
-- makes: _gpu_launch

-- Correlation ids are unique per process only. One id can stand on a runtime call and on the driver call inside it:
-- the outer one is what the program called.
create temp table _launch_call as
select
    t.pid,
    c.correlation_id,
    min_by(c.slice_id, {'ts': c.ts, 'minus_dur': -c.dur, 'id': c.slice_id}) as slice_id
from cpu_slice as c
inner join thread as t using (thread_id)
where c.kind = 'runtime' and c.correlation_id > 0
group by all;

-- Kineto does not say which process launched GPU work: there a correlation id decides only if one process uses it.
create temp table _launch_call_of_the_only_process as
select correlation_id, any_value(slice_id) as slice_id
from _launch_call
group by correlation_id
having count(*) = 1;

-- Of ranks merged into one file several processes use the same ids. Each GPU then belongs to the process whose calls come
-- before all of its work that has such an id, and soonest: in half the time of any other such process.
create temp table _process_of_device as
with
pair as (
    select
        g.device,
        l.pid,
        count(*) as slices,
        bool_and(c.ts <= g.ts) as is_before,
        median(g.ts - c.ts) as latency
    from staging.gpu_slice as g
    inner join _launch_call as l using (correlation_id)
    inner join cpu_slice as c on c.slice_id = l.slice_id
    where g.pid is null and g.correlation_id not in (select correlation_id from _launch_call_of_the_only_process)
    group by g.device, l.pid
)

select device, min_by(pid, latency) as pid
from (select *, max(slices) over (partition by device) as most from pair)
where is_before and slices = most
group by device
having count(*) = 1 or 2 * min(latency) <= list_sort(list(latency))[2];

create temp table _described_collective as
select distinct slice_id from staging.collective;

create temp table _communication_slice as
select c.slice_id, n.scope
from cpu_slice as c
inner join communication_name as n on n.kind = 'range' and n.name = c.name
where c.kind in ('op', 'annotation');

-- A copy's own operator (aten::copy_) stands between it and the operator of the library.
create temp table _inside_communication as
select c.slice_id, s.scope
from cpu_slice as c
inner join _communication_slice as s on s.slice_id = c.operator_id
where c.kind = 'op';

create temp table _gpu_launch as
select
    g.slice_id,
    c.slice_id as launch_id,
    c.thread_id,
    coalesce(c.ts, g.ts) as launched_at,
    m.slice_id is not null
    or n.name is not null
    or (g.kind = 'kernel' and coalesce(o.scope = 'all' or a.scope = 'all', false))
    or coalesce(g.copy_kind = 'p2p' and coalesce(o.scope, a.scope, i.scope) is not null, false) as is_communication
from staging.gpu_slice as g
left join _launch_call as own on own.pid = g.pid and own.correlation_id = g.correlation_id
left join _launch_call_of_the_only_process as only_process
    on g.pid is null and only_process.correlation_id = g.correlation_id
left join _process_of_device as d on g.pid is null and d.device = g.device
left join _launch_call as of_device on of_device.pid = d.pid and of_device.correlation_id = g.correlation_id
left join cpu_slice as c on c.slice_id = coalesce(own.slice_id, only_process.slice_id, of_device.slice_id)
left join _described_collective as m on m.slice_id = g.slice_id
left join communication_name as n on g.kind = 'kernel' and n.kind = 'kernel' and n.name = g.name
left join _communication_slice as o on o.slice_id = c.operator_id
left join _communication_slice as a on a.slice_id = c.annotation_id
left join _inside_communication as i on i.slice_id = c.operator_id;
