select trace_id, run, rank, steps, p50
from trace
left join step_stats using (trace_id)
order by trace_id
