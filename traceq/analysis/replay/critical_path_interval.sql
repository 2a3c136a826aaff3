-- The stretches of the critical path in which a host thread works, cut at steps.
delete from _host_piece;

create or replace temp table _path_stretch as
with
-- the last step lasts to the end of its work
replayed as (
    select step, ts, if(ts = max(ts) over (), (select max(ts_end) from _path_segment), ts_end) as ts_end
    from step
    where step between $first_step and $last_step
)

select
    row_number() over (order by p.segment, s.ts) - 1 as interval_id,
    p.segment,
    s.step,
    greatest(p.ts, s.ts) as ts,
    least(p.ts_end, s.ts_end) as ts_end,
    p.kind,
    p.edge,
    p.slice_id,
    p.thread_id,
    p.unexplained
from _path_segment as p
inner join replayed as s on p.ts < s.ts_end and p.ts_end > s.ts;

create or replace temp table _host_interval as
select interval_id, 0 as lane, thread_id, ts, ts_end
from _path_stretch
where kind = 'host' and thread_id >= 0;
