-- The row on which the profiler's own work stands: of the process that trains, else of an unknown one; see idle_overhead.sql.
-- reads: _training_thread
select c.thread_id
from cpu_slice as c
inner join thread as t using (thread_id)
left join thread as m on m.thread_id = (from _training_thread)
where t.pid is not distinct from m.pid or t.pid is null or t.pid < 0 or m.pid is null
group by c.thread_id
having bool_and(c.kind = 'overhead')
order by any_value(t.pid is not distinct from m.pid) desc, count(*) desc, c.thread_id
limit 1
