-- Calls of the counted steps that ask the driver for memory, most time first; calls of several threads add up.
select operation, c.name, sum(calls)::bigint as calls, sum(c.dur)::bigint as dur_ns, max(longest) as longest_ns
from allocator_call as c
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by operation, c.name
order by dur_ns desc, operation, c.name
limit $top
