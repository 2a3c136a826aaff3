-- When threads stood still, but for what they usually take there.
-- reads: host_stall
select thread_id, ts + coalesce(usual, 0) as ts, ts_end
from host_stall
where thread_id in (select unnest($threads::integer[])) and ts < $ts_end and ts_end > $ts
order by thread_id, ts
