-- Nothing marks steps: the whole trace is one.
select 'whole trace' as name, null::integer as thread_id, min(ts) as ts, max(ts_end) as own_end
from (
    select ts, ts_end from cpu_slice where kind <> 'other' or dur > 0
    union all
    select ts, ts + dur from staging.gpu_slice
)
having min(ts) is not null;
