-- What the profiler recorded of waiting, beside the calls themselves.
select
    (select count(*) from synchronization where trace_id = $trace_id) as synchronizations,
    count(*) as stream_waits,
    count(finished) as stream_waits_resolved
from stream_wait
where trace_id = $trace_id
