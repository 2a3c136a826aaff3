-- Synchronizations, of which several can wait for one stream at a time.
select coalesce(device, -1)::varchar || ' ' || coalesce(stream, -1) as track, slice_id, ts, ts + dur as ts_end
from synchronization
where trace_id = $trace_id
order by track, ts, dur desc, slice_id
