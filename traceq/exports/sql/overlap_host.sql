-- Slices of threads that do not nest, in the order in which Perfetto stacks them; and ranges that need not nest at all.
with outlasting as (
    select distinct c.thread_id
    from cpu_slice as c
    inner join cpu_slice as p on p.trace_id = c.trace_id and p.slice_id = c.parent_id
    where c.trace_id = $trace_id and c.ts_end > p.ts_end
)

select thread_id::varchar || if(depth is null, ' async', '') as track, slice_id, ts, ts_end
from cpu_slice
where trace_id = $trace_id and (depth is null or thread_id in (from outlasting))
order by track, ts, dur desc, depth, slice_id
