-- When a thread stood still, but for what it usually takes there.
-- reads: host_stall
select ts + coalesce(usual, 0) as ts, ts_end
from host_stall
where thread_id = $thread_id and ts < $ts_end and ts_end > $ts
order by ts
