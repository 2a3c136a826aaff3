-- The gaps of each device inside steps, and what the host did in them, as docs/metrics.md defines.
-- reads: device_activity, step
-- makes: _gap, _idle_interval, _training_thread

-- The training thread: the one that marks the steps, else that of the whole trace that this one was cut from, else the one that
-- launches most, else the one with most operators.
create temp table _training_thread as
select coalesce(
    (select any_value(thread_id) from step),
    (
        select any_value(h.thread_id)
        from trace as r
        inner join thread as h
            on coalesce(h.pid::varchar, h.process_name) = r.args ->> '$.traceq.trim.training.pid'
            and coalesce(h.tid::varchar, h.thread_name) = r.args ->> '$.traceq.trim.training.tid'
    ),
    (select c.thread_id from gpu_slice as g inner join cpu_slice as c on c.slice_id = g.launch_id group by c.thread_id order by count(*) desc, c.thread_id limit 1),
    (select thread_id from cpu_slice where kind = 'op' group by thread_id order by count(*) desc, thread_id limit 1),
    (select thread_id from cpu_slice where depth is not null group by thread_id order by count(*) desc, thread_id limit 1)
) as thread_id;

-- Which work ends a gap: the first to start at or after its end; of several the earliest launched.
create temp table _gap_end as
with
first_start as (
    select device, ts, min_by(slice_id, coalesce(launched_at, ts)) as slice_id
    from (
        select g.device, g.ts, g.slice_id, c.ts as launched_at
        from gpu_slice as g
        left join cpu_slice as c on c.slice_id = g.launch_id
    )
    group by device, ts
),

gap as (
    select row_number() over (order by device, ts) - 1 as gap_id, device, step, ts, ts + dur as ts_end
    from device_activity
    where category = 'idle' and step is not null
)

select
    g.*,
    n.slice_id as next_slice_id,
    n.launch_id as launch_slice_id,
    n.pid,
    case when n.copy_kind = 'um' and n.launch_id is null then coalesce(json_extract_string(n.args, '$.migration_cause'), 'page fault') end as migration_cause,
    contains(n.name, 'DtoH') as is_to_host
from gap as g
asof left join first_start as f on f.device = g.device and f.ts >= g.ts_end
left join gpu_slice as n on n.slice_id = f.slice_id;

-- Nobody launches a migration of unified memory. One to the host answers an access of the host; one to the device an access of the
-- work that was launched to run next; a prefetch was asked for by the last such call.
create temp table _migration_call as
with
prefetching as (
    select c.slice_id, c.thread_id, c.ts, t.pid
    from cpu_slice as c
    inner join thread as t using (thread_id)
    where c.kind = 'runtime' and regexp_matches(c.name, '^(cuda|cu|hip)MemPrefetch')
),

launched as (
    select g.device, g.pid, g.ts, g.launch_id as slice_id, c.thread_id
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
)

select e.gap_id, c.slice_id, c.thread_id
from (from _gap_end where migration_cause = 'prefetch') as e
asof inner join prefetching as c on c.pid is not distinct from e.pid and c.ts <= e.ts_end
union all
select e.gap_id, w.slice_id, w.thread_id
from (from _gap_end where migration_cause <> 'prefetch' and not is_to_host) as e
asof inner join launched as w on w.device = e.device and w.ts >= e.ts_end
where w.pid is not distinct from e.pid
union all
select e.gap_id, null, t.thread_id
from _gap_end as e
cross join _training_thread as t
inner join thread as h on h.thread_id = t.thread_id
where e.migration_cause <> 'prefetch' and e.is_to_host and h.pid is not distinct from e.pid;

create temp table _gap as
select
    g.gap_id, g.device, g.step, g.ts, g.ts_end, g.next_slice_id, g.launch_slice_id,
    l.ts_end as launched,
    case when g.next_slice_id is null then t.thread_id else coalesce(l.thread_id, m.thread_id) end as thread_id,
    s.thread_id as training_thread_id
from _gap_end as g
inner join step as s using (step)
cross join _training_thread as t
left join _migration_call as m using (gap_id)
left join cpu_slice as l on l.slice_id = coalesce(g.launch_slice_id, m.slice_id);

-- From the start of a gap to the end of the call that launches what ends it, the host is late; after that the launch is on its way.
-- Work launched before the gap waits for something else than the host.
create temp table _idle_interval as
select gap_id as interval_id, device as lane, thread_id, ts, least(ts_end, coalesce(launched, ts_end)) as ts_end
from _gap
where thread_id is not null and coalesce(launched, ts_end) > ts;
