-- When a trace begins and ends.
select min(ts) as ts, max(ts_end) as ts_end
from (
    select min(ts) as ts, max(ts_end) as ts_end from cpu_slice where trace_id = $trace_id
    union all
    select min(ts), max(ts_end) from gpu_slice where trace_id = $trace_id
)
