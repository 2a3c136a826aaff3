-- How long each rank of a job waits for ranks that are not here.
select
    rank,
    wait_absent
from job_rank
where job = $job and time_window = $time_window
order by wait_absent desc
