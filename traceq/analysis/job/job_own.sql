-- The slices of one window's matched collectives, from _job_own.
insert into collective_member by name
select $job as job, $time_window as time_window, * exclude (typical_trace_id, typical_slice_id)
from _job_own;
