-- Kineto does not say on which thread the profiler's own work was done: it stands on a row of its own, and is laid over what the host
-- did at that time, unless a context says more.

create temp table _host_part as
select p.gap_id, g.device, p.thread_id, p.ts, p.ts_end, p.activity, p.slice_id
from _idle_piece as p
inner join _gap as g using (gap_id)
where p.slice_id is not null or p.activity not in ('none', 'off')
union all
select h.gap_id, h.lane, p.thread_id, p.ts, p.ts_end, p.activity, p.slice_id
from _host_piece as p
inner join _idle_hole as h using (interval_id)
union all
select gap_id, lane, null, ts, ts_end, 'none', null
from _idle_hole
where thread_id is null;

delete from _host_piece;

create temp table _overlaid as
select row_number() over (order by gap_id, ts) as interval_id, *
from _host_part
where
    activity not in ('data', 'checkpoint', 'compile')
    and exists (
        select 1
        from cpu_slice
        group by thread_id
        having bool_and(kind = 'overhead')
    );

create or replace temp table _host_interval as
select
    interval_id,
    device as lane,
    (select thread_id from cpu_slice group by thread_id having bool_and(kind = 'overhead') order by count(*) desc, thread_id limit 1) as thread_id,
    ts,
    ts_end
from _overlaid;
