-- The logs of monitors that were given with the trace, and what became of each.
select path, tool, samples, kept, clock, placed_by, zone_ns, offset_ns, residual_ns, correlation, text
from monitor_log
where trace_id = $trace_id
order by log_id
