-- Numbers of steps are at least 0 and rise with time; steps have a duration, and each ends where the next begins.
select
    step,
    coalesce(step <= lag(step) over (order by ts), step < 0)
    or dur <= 0
    or ts_end <> ts + dur
    or coalesce(ts_end <> lead(ts) over (order by ts), false) as is_broken,
    'step ' || step as place
from step
where trace_id = $trace_id
