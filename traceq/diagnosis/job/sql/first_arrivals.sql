-- By how much each rank came later than the first to its first matched collective, ns; the last first.
select r.rank, m.own as later_ns
from collective_member as m
inner join job_rank as r using (job, time_window, unit)
where m.job = $job and m.time_window = $time_window and m.match_id is not null and m.own_begins is null
qualify row_number() over (partition by r.unit order by m.own) = 1
order by later_ns desc, r.rank
limit 16
