-- What a rank of a job that is held up by late ranks can win for the job, ns per counted step: by being like the usual rank
-- (`win`), and how far it is beyond that (`late`). No row where nobody is late, or single ranks were not tried.
select
    r.win / greatest(j.steps, 1) as win,
    coalesce(r.late, 0) / greatest(j.steps, 1) as late,
    r.transfer / greatest(j.steps, 1) as transfer
from job_rank as r
inner join job as j using (job, time_window)
where
    r.trace_id = $trace_id and r.device = $device and r.win is not null and j.cannot_tell is null
    and exists (select 1 from straggler as s where s.job = r.job and s.time_window = r.time_window)
