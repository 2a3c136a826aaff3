-- Where the critical path runs on the lanes that are drawn: segments that follow one another on a lane as one, from $ts. What
-- lies between two of them is waited for.
with
lane as (
    select row_number() over (order by track) - 1 as lane, coalesce(device, -1) as device, number, side
    from timeline_track
    where track in (select track from timeline_piece)
),

segment as (
    select
        p.segment,
        greatest(p.ts, $ts) as ts,
        least(p.ts_end, $ts_end) as ts_end,
        l.lane,
        l.lane is distinct from lag(l.lane) over (order by p.segment) as is_first
    from critical_path as p
    left join lane as l
        on l.side in ('gpu', 'host') and l.device = coalesce(p.device, -1) and l.number = if(p.device is null, p.thread_id, coalesce(p.stream, -1))
    where p.trace_id = $trace_id and p.kind <> 'wait' and p.ts < $ts_end and p.ts_end > $ts
),

run as (
    select *, sum(is_first::integer) over (order by segment rows unbounded preceding) as number
    from segment
)

select any_value(lane) as lane, min(ts) - $ts as ts, max(ts_end) - min(ts) as dur
from run
where lane is not null
group by number
order by number
