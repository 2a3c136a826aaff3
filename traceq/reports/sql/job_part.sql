-- The parts of a job that have late ranks, where no process group connects its parts: the one whose late ranks cost most first.
with
member as (
    select part, list(rank order by rank) as ranks
    from job_rank
    where job = $job and time_window = $time_window and part is not null
    group by part
)

select
    m.ranks,
    list(r.rank order by g.place) as late,
    list(g.adds order by g.place) as adds,
    sum(g.adds)::bigint as saved
from group_straggler as g
inner join job_rank as r using (job, time_window, unit)
inner join member as m on m.part = g.part
where g.job = $job and g.time_window = $time_window
group by g.part, m.ranks
order by saved desc, g.part
