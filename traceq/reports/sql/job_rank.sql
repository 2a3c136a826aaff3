-- The ranks of one window of a job: what each does by itself, and what it waits for others.
select
    trace_id,
    rank,
    rank_source,
    host,
    stage,
    clock_offset,
    own,
    transfer,
    wait,
    late_count,
    win
from job_rank
where job = $job and time_window = $time_window
order by unit
