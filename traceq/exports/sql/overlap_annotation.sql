-- Annotations as the source projected them onto streams.
select device::varchar || ' ' || coalesce(stream, -1) as track, slice_id, ts, ts + dur as ts_end
from gpu_annotation
where trace_id = $trace_id
order by track, ts, dur desc, slice_id
