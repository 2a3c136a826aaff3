-- Who holds up one window of a job, the worst first, with the numbers of its ranks.
select
    s.kind,
    s.name,
    list(r.rank order by r.unit) as ranks,
    s.adds,
    s.win,
    s.cause
from straggler as s
inner join job_rank as r on r.job = s.job and r.time_window = s.time_window and list_contains(s.units, r.unit)
where s.job = $job and s.time_window = $time_window
group by s.place, s.kind, s.name, s.adds, s.win, s.cause
order by s.place
