-- The lanes that are drawn, from above; `number` is the stream or the thread.
select
    t.track,
    any_value(t.side) as side,
    any_value(t.device) as device,
    any_value(t.number) as number,
    any_value(h.thread_name) as thread_name,
    max(s.depth) + 1 as levels
from timeline_group as s
inner join timeline_track as t using (track)
left join thread as h on t.side = 'host' and h.trace_id = $trace_id and h.thread_id = t.number
group by t.track
order by t.track
