-- The tracks, from above; `number` is the stream or the thread.
select t.track, t.side, t.device, t.number, h.thread_name
from timeline_track as t
left join thread as h on t.side = 'host' and h.trace_id = $trace_id and h.thread_id = t.number
order by t.track
