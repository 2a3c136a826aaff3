-- The steps on the training thread.
-- reads: _training_thread, step
-- makes: _step_interval

create temp table _step_interval as
select s.step as interval_id, 0 as lane, t.thread_id, s.ts, s.ts_end
from step as s
cross join _training_thread as t
where t.thread_id is not null;
