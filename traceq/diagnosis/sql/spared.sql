-- The traces that are asked no rules unless somebody wants it: ranks of a judged job of more than four, beside those that stand for them.
with
many as (
    select job, time_window
    from job_rank
    inner join job as j using (job, time_window)
    where j.dur is not null
    group by job, time_window
    having count(distinct trace_id) > 4
)

select distinct r.trace_id
from job_rank as r
inner join many as m using (job, time_window)
where r.trace_id not in (select trace_id from job_suspect)
order by r.trace_id
