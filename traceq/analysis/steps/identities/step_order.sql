-- Steps are numbered from 0 in the order of time, have a duration, and each ends where the next begins.
select
    step,
    step <> row_number() over (order by ts) - 1
    or dur <= 0
    or ts_end <> ts + dur
    or coalesce(ts_end <> lead(ts) over (order by ts), false) as is_broken,
    'step ' || step as place
from step
where trace_id = $trace_id
