-- A block of the timeline, whose rows are stored thread by thread: the innermost slice (-1 for none) and the number of the activity.
-- reads: _host_timeline
select ts, coalesce(slice_id, -1) as slice_id, enum_code(activity)::utinyint as activity
from _host_timeline
where rowid between $first and $last
order by rowid
