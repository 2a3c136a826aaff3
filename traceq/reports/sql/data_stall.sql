-- Fetching of input in the counted steps; NULL where the trace does not show.
select
    count(*) as steps,
    sum(data_wait)::bigint as data_wait_ns,
    sum(data_stall)::bigint as data_stall_ns,
    sum(idle_data)::bigint as idle_data_ns,
    sum(input_copy)::bigint as input_copy_ns,
    sum(hidden)::bigint as hidden_ns,
    sum(fetches)::bigint as fetches,
    max(longest_fetch) as longest_fetch_ns,
    sum(first_fetch)::bigint as first_fetch_ns,
    sum(waiting)::bigint as waiting_ns,
    sum(reading)::bigint as reading_ns,
    sum(transform)::bigint as transform_ns,
    sum(python)::bigint as python_ns,
    sum(calls)::bigint as calls_ns,
    sum(unexplained)::bigint as unexplained_ns,
    max(workers) as workers,
    avg(worker_busy) as worker_busy_share
from data_stall
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
