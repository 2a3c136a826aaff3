-- What each rank of one window of a job takes of its counted steps: its own time step by step, transfer and waiting in all, ns. What
-- comes before the first collective of a rank is no own time: profilers start ranks apart.
with
unit as (
    select *
    from job_rank
    where job = $job and time_window = $time_window
),

step_of_job as (
    select s.step, s.excluded
    from step as s
    where s.trace_id = (select min_by(trace_id, unit) from unit)
),

part as (
    select
        m.unit,
        c.step,
        sum(m.own) filter (m.own_begins is not null) as own,
        sum(c.transfer) as transfer,
        sum(m.wait) as wait
    from collective_member as m
    inner join collective_match as c using (job, time_window, match_id)
    where
        m.job = $job
        and m.time_window = $time_window
        and (
            c.step in (select step from step_of_job where excluded is null)
            or not exists (select 1 from step_of_job)
        )
    group by m.unit, c.step
)

select
    u.rank,
    u.host,
    u.stage,
    u.win,
    coalesce(list(coalesce(p.own, 0)::bigint order by p.step) filter (p.unit is not null), []) as own,
    coalesce(sum(p.transfer), 0)::bigint as transfer,
    coalesce(sum(p.wait), 0)::bigint as wait
from unit as u
left join part as p using (unit)
group by u.unit, u.rank, u.host, u.stage, u.win
order by u.unit
