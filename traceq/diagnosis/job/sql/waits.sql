-- How long each rank of a job transfers and waits in matched collectives, ns of all steps.
select rank, transfer as transfer_ns, wait as wait_ns, wait / nullif(wait + transfer, 0) as wait_share
from job_rank
where job = $job and time_window = $time_window
order by wait desc, rank
limit 16
