-- A call that waits for GPU work returns when that has ended: what was launched before the call, and lasts longer than from its launch
-- to the return, has a duration that cannot be right, however far the clocks of host and GPU are apart: both times are the host's. By
-- $apart, ns, it must be too long. Streams say less of graphs and migrations; a call without a record of its own tells of a device
-- where all work is on one.
-- makes: _waited_end
create temp table _host_wait as
with
call as (
    select
        c.slice_id, t.pid, c.correlation_id, c.ts, c.ts + c.dur as ts_end,
        regexp_matches(c.name, '^(cuda|hip)(Device|Thread)Synchronize|^cuCtxSynchronize') as is_for_all
    from staging.cpu_slice as c
    inner join staging.thread as t using (thread_id)
    where
        c.kind = 'runtime'
        and contains(c.name, 'Synchronize')
        and regexp_matches(c.name, '^(cuda|hip)(Stream|Device|Thread|Event)Synchronize|^cu(Stream|Ctx|Event)Synchronize')
        and coalesce((try_cast(c.args as json) ->> 'return_value')::varchar, '0') = '0'
),

record as (
    select *
    from staging.synchronization
    where kind in ('context', 'stream') or (kind = 'event' and wait_on_correlation_id is not null)
)

select
    call.pid, call.ts, greatest(call.ts_end, record.ts + record.dur) as ts_end, record.device, record.context,
    if(record.kind = 'event', record.wait_on_stream, record.stream) as stream,
    if(record.kind = 'event', record.wait_on_correlation_id, null) as recorded_by,
    record.kind
from record
inner join call on call.correlation_id = record.correlation_id and call.pid = coalesce(record.pid, call.pid)
union all
select pid, ts, ts_end, null, null, null, null, 'device'
from call
where is_for_all and (select count(distinct device) = 1 from staging.gpu_slice);

-- Few last beyond the end of the latest wait that ended before them.
create temp table _late_work as
select g.*
from (
    select slice_id, pid, device, context, stream, ts, dur, ts + dur - $apart as until, correlation_id, graph_id, graph_node_id, kind
    from staging.gpu_slice
    where dur > $apart and correlation_id > 0 and copy_kind is distinct from 'um'
) as g
asof inner join (select ts_end from _host_wait) as w on w.ts_end <= g.until
where w.ts_end > g.ts;

create temp table _late_call as
select t.pid, c.correlation_id, min(c.ts) as ts, max(c.ts + c.dur) as ts_end
from staging.cpu_slice as c
inner join staging.thread as t using (thread_id)
where
    c.kind = 'runtime'
    and (
        c.correlation_id in (select correlation_id from _late_work)
        or (c.correlation_id in (select recorded_by from _host_wait) and exists (from _late_work))
    )
group by all;

create temp table _waited_end as
select g.slice_id, any_value(g.dur) as dur, min(w.ts_end - greatest(g.ts, l.ts)) as possible
from _late_work as g
inner join _late_call as l on l.correlation_id = g.correlation_id and (l.pid = g.pid or g.pid is null)
inner join _host_wait as w on w.pid = l.pid and w.ts >= l.ts_end and w.ts_end > g.ts and g.dur > w.ts_end - l.ts + $apart
left join _late_call as r on r.correlation_id = w.recorded_by and r.pid = w.pid
where
    (w.device is null or w.device = g.device)
    and (w.context is null or g.context is null or w.context = g.context)
    and (w.kind in ('context', 'device') or (w.stream = g.stream and g.graph_id is null and g.graph_node_id is null and g.kind <> 'graph'))
    and (w.recorded_by is null or (r.ts >= l.ts_end and r.ts_end <= w.ts))
    -- of files of several ranks that use the same ids
    and (g.pid is not null or (select count(*) from _late_call as o where o.correlation_id = g.correlation_id) = 1)
group by g.slice_id;

update staging.gpu_slice as g
set dur = e.possible
from _waited_end as e
where g.slice_id = e.slice_id;
