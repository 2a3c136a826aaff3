-- What takes most of the training thread's time in its fetches, by name, most first (place, from 1). Methods that fetch a sample are the
-- fetch itself.
-- uses: host_time, fetch_part
-- threshold: least_of_steps = 0.05: a range that takes less of the steps is not what is meant
select row_number() over (order by sum(dur) desc, range) as place, range
from fetch_part
where not regexp_matches(range, ': __(getitems?|iter|next|call)__$')
group by range
having sum(dur) >= $least_of_steps * (select sum(dur) from host_time)
order by place
limit 3
