-- A window of a job with what its ranks have together: the share of waiting in matched collectives, their counted time, stages, and
-- which ranks are here.
with
member as (
    select
        sum(wait) / nullif(sum(wait) + sum(transfer), 0) as wait_share,
        count(distinct stage) as stages,
        list(rank order by unit) as present
    from job_rank
    where job = $job and time_window = $time_window
),

counted as (
    select sum(l.dur)::bigint as counted
    from job_rank as r
    inner join time_ledger as l on l.trace_id = r.trace_id and l.device = r.device
    inner join step as s on s.trace_id = l.trace_id and s.step = l.step
    where r.job = $job and r.time_window = $time_window and s.excluded is null
)

select j.*, m.wait_share, m.stages, m.present, c.counted
from job as j
cross join member as m
cross join counted as c
where j.job = $job and j.time_window = $time_window
