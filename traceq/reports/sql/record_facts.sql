-- What records of collectives were given with the trace.
select
    count(*) as processes,
    sum(records)::bigint as records,
    bool_or(coalesce(is_of_trace, false)) as is_own_known,
    (select count(*) from slow_link where trace_id = $trace_id) as slow_links,
    (select count(*) from inspected_link where trace_id = $trace_id) as links,
    max(last_utc_ns) - min(first_utc_ns) as lasted_ns
from inspected_process
where trace_id = $trace_id
having count(*) > 0
