-- A block of one thread's timeline, in the order of time: so it is stored, and so a scan returns it.
select ts, slice_id, activity, phase, synchronizing_id
from _host_timeline
where rowid between $first and $last;
