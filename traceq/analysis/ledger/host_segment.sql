-- A block of one thread's timeline.
select ts, slice_id, activity, phase, synchronizing_id
from _host_timeline
where rowid between $first and $last
order by ts;
