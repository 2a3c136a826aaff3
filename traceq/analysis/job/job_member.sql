-- The slices of one window of which nothing more is found: where it is judged those that were not matched.
-- reads: _job_member
-- makes: collective_member
insert into collective_member by name
select job, time_window, trace_id, slice_id, unit, match_id, false as on_path
from _job_member
where job = $job and time_window = $time_window and (match_id is null or not $is_judged);
