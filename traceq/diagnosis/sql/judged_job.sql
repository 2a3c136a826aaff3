-- The jobs of several ranks that a trace is part of and that could be judged.
select j.job, j.time_window
from job_rank as r
inner join job as j using (job, time_window)
where r.trace_id = $trace_id and j.ranks > 1 and j.dur is not null and j.cannot_tell is null
