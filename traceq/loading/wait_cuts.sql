-- What outlasts, by more than $apart, ns, the first wait for it that began after its launch, ends with that. Streams say less of
-- graphs and migrations.
create temp table _tested_work as
with
call as (
    select t.pid, c.correlation_id, min(c.ts) as ts, max(c.ts + c.dur) as ts_end, count(*) over (partition by c.correlation_id) as processes
    from staging.cpu_slice as c
    inner join staging.thread as t using (thread_id)
    where
        c.kind = 'runtime'
        and (
            c.correlation_id in (select correlation_id from staging.gpu_slice)
            or c.correlation_id in (select recorded_by from _host_wait)
        )
    group by t.pid, c.correlation_id
),

-- What a CUDA event waits for was launched before its recording began. Scopes are what is waited for.
wait as (
    select
        dense_rank() over (order by w.kind, w.pid, w.device, w.context, w.stream) as scope,
        w.kind, w.pid, w.device, w.context, w.stream, coalesce(r.ts, w.ts) as since, min(w.ts_end) as ts_end
    from _host_wait as w
    left join call as r on r.correlation_id = w.recorded_by and r.pid = w.pid
    where w.recorded_by is null or r.ts_end <= w.ts
    group by w.kind, w.pid, w.device, w.context, w.stream, coalesce(r.ts, w.ts)
),

work as (
    select s.scope, s.kind, s.pid, g.slice_id, g.ts, g.dur, l.ts as launch_ts, l.ts_end as launch_end
    from staging.gpu_slice as g
    -- of files of several ranks that use the same ids
    inner join call as l on l.correlation_id = g.correlation_id and (l.pid = g.pid or (g.pid is null and l.processes = 1))
    inner join (select distinct scope, kind, pid, device, context, stream from wait) as s
        on
            s.pid = l.pid and s.device = g.device and s.context is not distinct from g.context
            and (
                s.kind in ('context', 'device')
                or (s.stream = g.stream and g.graph_id is null and g.graph_node_id is null and g.kind <> 'graph')
            )
    where g.correlation_id > 0 and g.copy_kind is distinct from 'um'
)

select
    g.kind, g.pid, g.scope, w.since, g.slice_id, g.dur, w.ts_end - greatest(g.ts, g.launch_ts) as possible,
    g.ts + g.dur > w.ts_end + $apart as is_late,
    g.ts + g.dur > w.ts_end + $apart and w.ts_end > g.ts and g.dur > w.ts_end - g.launch_ts + $apart as is_impossible
from work as g
asof inner join wait as w on w.scope = g.scope and g.launch_end <= w.since;

-- A profiler damages a few durations. Where more than one wait of a kind in ten (and more than one), of those with work of their own,
-- returned before that ended, they waited for something else, or the clocks differ: then none of them tells anything. A premise that
-- is wrong fails nearly always, so a tenth leaves room on both sides.
create temp table _doubted_wait as
select
    kind, pid,
    count(distinct (scope, since)) as waits,
    count(distinct (scope, since)) filter (where is_late) as late
from _tested_work
group by kind, pid
having late > 1 and late * 10 > waits;

create temp table _waited_end as
select slice_id, any_value(dur) as dur, min(possible) as possible
from _tested_work
anti join _doubted_wait using (kind, pid)
where is_impossible
group by slice_id;

create temp table _doubted_end as
select distinct slice_id, dur
from _tested_work
semi join _doubted_wait using (kind, pid)
anti join _waited_end using (slice_id)
where is_impossible;

update staging.gpu_slice as g
set dur = e.possible
from _waited_end as e
where g.slice_id = e.slice_id;
