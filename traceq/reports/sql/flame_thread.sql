-- The threads whose calls are in a flame graph, and how many these are at most.
select c.thread_id, c.calls, concat_ws(' ', c.thread_id, t.thread_name) as name
from (
    select thread_id, count(*) as calls
    from cpu_slice
    where trace_id = $trace_id and depth is not null and dur > 0
    group by thread_id
) as c
left join thread as t on t.trace_id = $trace_id and t.thread_id = c.thread_id
order by c.thread_id
