-- The gaps of each device inside steps, and what the host did in them, as docs/metrics.md defines.

-- The training thread: the one that marks the steps, else the one that launches most, else the one with most operators.
create temp table _training_thread as
select coalesce(
    (select any_value(thread_id) from step),
    (select c.thread_id from gpu_slice as g inner join cpu_slice as c on c.slice_id = g.launch_id group by c.thread_id order by count(*) desc, c.thread_id limit 1),
    (select thread_id from cpu_slice where kind = 'op' group by thread_id order by count(*) desc, thread_id limit 1),
    (select thread_id from cpu_slice where depth is not null group by thread_id order by count(*) desc, thread_id limit 1)
) as thread_id;

-- Which work ends a gap: the first to start at or after its end; of several the earliest launched.
create temp table _gap as
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
    l.slice_id as launch_slice_id,
    l.ts_end as launched,
    case when n.slice_id is null then t.thread_id else l.thread_id end as thread_id,
    s.thread_id as training_thread_id
from gap as g
inner join step as s using (step)
cross join _training_thread as t
asof left join first_start as f on f.device = g.device and f.ts >= g.ts_end
left join gpu_slice as n on n.slice_id = f.slice_id
left join cpu_slice as l on l.slice_id = n.launch_id;

-- From the start of a gap to the end of the call that launches what ends it, the host is late; after that the launch is on its way.
-- Work launched before the gap waits for something else than the host.
create temp table _host_interval as
select gap_id as interval_id, device as lane, thread_id, ts, least(ts_end, coalesce(launched, ts_end)) as ts_end
from _gap
where thread_id is not null and coalesce(launched, ts_end) > ts;

create temp table _host_piece
(
    interval_id bigint,
    ts bigint,
    ts_end bigint,
    thread_id integer,
    slice_id bigint,
    activity host_activity,
    phase host_phase,
    synchronizing_id bigint
);
