-- The slices of one window's matched collectives, from _job_own; of those that came late, whose time is the usual one there.
-- reads: _job_own
-- makes: _job_typical, collective_member
insert into collective_member by name
select $job as job, $time_window as time_window, * exclude (typical_trace_id, typical_slice_id)
from _job_own;

create or replace temp table _job_typical as
select trace_id, slice_id, typical_trace_id, typical_slice_id
from _job_own
where own - usual > $limit;
