-- The clocks of one window, from _job_clock.
-- reads: _job_clock
-- makes: job, job_rank
update job_rank
set clock_offset = c.clock_offset, clock_drift = c.clock_drift, clock_samples = c.clock_samples
from _job_clock as c
where job_rank.job = $job and job_rank.time_window = $time_window and job_rank.unit = c.unit;

update job
set
    clock_residual = $residual,
    claim_limit = $limit,
    violations = $violations,
    cannot_tell = coalesce(cannot_tell, $reason)
where job.job = $job and job.time_window = $time_window;
