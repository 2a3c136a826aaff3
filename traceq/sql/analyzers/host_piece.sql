-- Cuts each of _host_interval (interval_id, lane, thread_id, ts, ts_end) at the boundaries of its thread's timeline. The intervals of
-- one lane and thread do not overlap. Adds to _host_piece; the pieces of an interval add up to it.

insert into _host_piece
with
point as (
    select interval_id, thread_id, ts, ts_end from _host_interval where ts_end > ts
    union all
    select i.interval_id, i.thread_id, b.ts, i.ts_end
    from (
        select l.lane, t.thread_id, t.ts
        from _host_timeline as t
        inner join (select distinct lane, thread_id from _host_interval) as l using (thread_id)
    ) as b
    asof join (from _host_interval where ts_end > ts) as i on i.lane = b.lane and i.thread_id = b.thread_id and b.ts > i.ts
    where b.ts < i.ts_end
)

select
    p.interval_id,
    p.ts,
    coalesce(lead(p.ts) over (partition by p.interval_id order by p.ts), p.ts_end) as ts_end,
    p.thread_id,
    t.slice_id,
    coalesce(t.activity, 'none') as activity,
    coalesce(t.phase, 'other') as phase,
    t.synchronizing_id
from point as p
asof left join _host_timeline as t on t.thread_id = p.thread_id and p.ts >= t.ts;
