-- The segments of the critical path that are not waits, from $ts, and the number of the lane that each is on; -1: of none that is drawn.
with
lane as (
    select row_number() over (order by track) - 1 as lane, coalesce(device, -1) as device, number, side
    from timeline_track
    where track in (select track from timeline_piece)
)

select
    p.segment,
    coalesce(l.lane, -1) as lane,
    greatest(p.ts, $ts) - $ts as ts,
    least(p.ts_end, $ts_end) - $ts as ts_end
from critical_path as p
left join lane as l
    on l.side in ('gpu', 'host') and l.device = coalesce(p.device, -1) and l.number = if(p.device is null, p.thread_id, coalesce(p.stream, -1))
where p.trace_id = $trace_id and p.kind <> 'wait' and p.ts < $ts_end and p.ts_end > $ts
