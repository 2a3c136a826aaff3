-- How long each rank of a job waits for ranks that are not here, ns of all steps.
select rank, wait_absent as wait_absent_ns
from job_rank
where job = $job and time_window = $time_window
order by wait_absent desc, rank
limit 16
