-- When host slices whose name fits a pattern are open on threads.
select c.thread_id, c.ts, c.ts_end
from cpu_slice as c
where c.thread_id in (select unnest($threads::integer[])) and c.name glob $pattern and c.dur > 0 and c.ts < $ts_end and c.ts_end > $ts
order by c.thread_id, c.ts
