-- Who holds up one window of a job, the one to be fixed first first, with the ranks it is about.
select s.*, list(r.rank order by r.unit) as ranks
from straggler as s
inner join job_rank as r on r.job = s.job and r.time_window = s.time_window and list_contains(s.units, r.unit)
where s.job = $job and s.time_window = $time_window
group by all
order by s.place
