select distinct correlation_id
from cuda_event
where trace_id = $trace_id and slice_id in (from _kept) and correlation_id is not null;
