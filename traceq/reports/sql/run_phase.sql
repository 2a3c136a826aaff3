-- Where the wall time of the whole run went, by the training logs beside the trace.
select category, dur as dur_ns, share
from run_goodput
where trace_id = $trace_id
order by dur desc, category
