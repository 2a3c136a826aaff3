-- The late ranks of each part of one window, as _job_group_straggler has them.
-- reads: _job_group_straggler, job
-- makes: group_straggler
insert into group_straggler by name
select $job as job, $time_window as time_window, *
from _job_group_straggler
where exists (select 1 from job where job = $job and time_window = $time_window and cannot_tell is null)
order by part, place;
