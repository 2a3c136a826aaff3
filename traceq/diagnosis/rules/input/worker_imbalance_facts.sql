-- How busy each worker is seen to be, the busiest first.
select thread_id, sum(busy) / sum(dur) as busy_share
from data_worker
where trace_id = $trace_id and role = 'worker'
group by thread_id
having bool_and(busy is not null) and sum(dur) > 0
order by busy_share desc, thread_id
