-- The lanes of timeline_slice, from above; `number` is the stream or the thread.
select
    s.lane,
    any_value(s.side) as side,
    any_value(s.device) as device,
    any_value(s.number) as number,
    any_value(t.thread_name) as thread_name,
    max(s.depth) + 1 as levels
from timeline_slice as s
left join thread as t on s.side = 'host' and t.trace_id = $trace_id and t.thread_id = s.number
group by s.lane
order by s.lane
