-- Host slices of the part by thread, as nsys packs it, and start.
select distinct ((coalesce(t.pid, 0) & 16777215) << 24) + coalesce(t.tid, 0) as tid, c.ts
from cpu_slice as c
inner join thread as t on t.trace_id = c.trace_id and t.thread_id = c.thread_id
where c.trace_id = $trace_id and c.slice_id in (from _kept);
