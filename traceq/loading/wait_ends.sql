-- A call that waits for GPU work returns when that has ended: what was launched before the call, and lasts longer than from its launch
-- to the return, has a duration that cannot be right: both times are the host's. This finds the waits, and what may outlast one by
-- more than $apart, ns. A record of CUPTI tells what its call waited for. A call without one waits for the current device and context,
-- which no file names: it tells only where no other can be meant, as the file lists one GPU, and the process uses that in one context
-- (AMD's files name none).
create temp table _host_wait as
with
call as (
    select
        t.pid, c.correlation_id, c.ts, c.ts + c.dur as ts_end, starts_with(c.name, 'hip') as is_amd,
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
    where
        device is not null and context is not null
        and (kind in ('context', 'stream') or (kind = 'event' and wait_on_correlation_id is not null))
),

place as (
    select pid, device, context from staging.gpu_slice
    union
    select pid, device, context from staging.synchronization where device is not null
    union
    select pid, device, context from staging.cuda_event where device is not null
),

only_place as (
    select c.pid, any_value(p.device) as device, any_value(p.context) as context
    from (select distinct pid from call where is_for_all) as c
    inner join place as p on p.pid is null or p.pid = c.pid
    where (select count(*) = 1 and bool_and(source = 'trace') from staging.device)
    group by c.pid
    having count(distinct (p.device, p.context)) = 1
)

select
    call.pid, call.ts, greatest(call.ts_end, record.ts + record.dur) as ts_end, record.device, record.context,
    if(record.kind = 'event', record.wait_on_stream, record.stream) as stream,
    if(record.kind = 'event', record.wait_on_correlation_id, null) as recorded_by,
    record.kind
from record
inner join call on call.correlation_id = record.correlation_id and call.pid = coalesce(record.pid, call.pid)
union all
select call.pid, call.ts, call.ts_end, p.device, p.context, null, null, 'device'
from call
inner join only_place as p using (pid)
inner join staging.device as d using (device)
where
    call.is_for_all
    and (call.is_amd or p.context is not null)
    and not exists (
        from staging.synchronization as s where s.correlation_id = call.correlation_id and (s.pid is null or s.pid = call.pid)
    );

-- Few last beyond the end of the latest wait that ended before them.
select g.slice_id
from (
    select slice_id, ts, ts + dur - $apart as until
    from staging.gpu_slice
    where dur > $apart and correlation_id > 0 and copy_kind is distinct from 'um'
) as g
asof inner join (select ts_end from _host_wait) as w on w.ts_end <= g.until
where w.ts_end > g.ts
limit 1;
