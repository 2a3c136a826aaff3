-- What the threads that drive GPUs do at each instant, as the number of the activity.
-- reads: _host_timeline
select thread_id, ts, enum_code(activity)::utinyint as activity
from _host_timeline
where thread_id in (select unnest($threads::integer[])) and ts < $ts_end
order by thread_id, ts
