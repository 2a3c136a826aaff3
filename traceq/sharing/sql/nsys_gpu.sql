select distinct kind, ts, coalesce(correlation_id, 0) as correlation
from gpu_slice
where trace_id = $trace_id and slice_id in (from _kept);
