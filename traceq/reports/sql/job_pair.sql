-- The pairs of ranks, or of blocks of ranks, of one window of a job that communicate: bytes, transfers, and waits of the one for the other.
select r.rank, o.rank as other, p.bytes, p.transfer, p.wait
from job_pair as p
inner join job_rank as r using (job, time_window, unit)
inner join job_rank as o on o.job = p.job and o.time_window = p.time_window and o.unit = p.other
where p.job = $job and p.time_window = $time_window
order by r.rank, o.rank
