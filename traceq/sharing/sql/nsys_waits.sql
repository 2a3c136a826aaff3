select distinct ts, coalesce(correlation_id, 0) as correlation
from synchronization
where trace_id = $trace_id and slice_id in (from _kept);
