-- Ranges that need not nest (started and ended independently, perhaps on two threads) stand beside the stack.
-- makes: cpu_slice
insert into cpu_slice by name
select $trace_id as trace_id, * exclude (is_async)
from staging.cpu_slice
where is_async
order by thread_id, ts, slice_id;
