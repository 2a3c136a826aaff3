-- The row on which Kineto puts the profiler's own work, see idle_overhead.sql.
select thread_id
from cpu_slice
group by thread_id
having bool_and(kind = 'overhead')
order by count(*) desc, thread_id
limit 1
