-- The steps, how they were found, and what is counted in them.
select
    count(*) filter (excluded is null) as steps,
    count(excluded) as steps_excluded,
    max(source) as step_source,
    (select string_agg(key, ', ' order by key) from throughput where trace_id = $trace_id) as payloads
from step
where trace_id = $trace_id
