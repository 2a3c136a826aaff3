-- Intervals to cut, in the order in which each thread's timeline is swept for each lane.
select interval_id, lane, thread_id, ts, ts_end
from _host_interval
where ts_end > ts
order by thread_id, lane, ts;
