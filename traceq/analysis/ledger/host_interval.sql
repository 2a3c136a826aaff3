-- Intervals of some threads to cut in a window of time, or the $part-th of $parts of them, in the order in which that is swept for each
-- thread and lane.
select interval_id, thread_id, lane, ts, ts_end
from _host_interval
where
    thread_id between $first_thread and $last_thread and ts_end > ts and ts < $ts_end and ts_end > $ts
    and interval_id % $parts = $part
order by thread_id, lane, ts;
