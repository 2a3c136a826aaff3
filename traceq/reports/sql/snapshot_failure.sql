-- Where memory ran out, the first device first: what was asked for, and what there was.
select
    f.device,
    f.ts,
    f.ts - (select min(e.ts) from allocator_event as e where e.trace_id = f.trace_id and e.device = f.device) as after_ns,
    f.failures,
    f.bytes as asked_bytes,
    f.owner,
    f.device_free as free_bytes,
    f.short as short_bytes,
    f.reserved as reserved_bytes,
    f.used as used_bytes,
    f.idle as idle_bytes,
    f.largest_free as largest_free_bytes,
    f.is_exact
from memory_failure as f
where f.trace_id = $trace_id
order by f.ts, f.device
