-- Intervals of a thread to cut in a window of its timeline, or the $part-th of $parts of them, in the order in which that is swept for each lane.
select interval_id, lane, ts, ts_end
from _host_interval
where thread_id = $thread_id and ts_end > ts and ts < $ts_end and ts_end > $ts and interval_id % $parts = $part
order by lane, ts;
