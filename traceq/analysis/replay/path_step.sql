-- The steps at which the critical path is cut.
-- reads: step
select step, ts, ts_end
from step
where step between $first_step and $last_step
order by ts
