-- When most memory was in use on each device of a memory snapshot, since the start of its history.
select
    p.device,
    p.bytes as peak_bytes,
    p.ts - (select min(e.ts) from allocator_event as e where e.trace_id = p.trace_id and e.device = p.device) as after_ns,
    p.reserved as reserved_bytes,
    p.most_reserved as most_reserved_bytes,
    p.older,
    p.older_bytes,
    p.lost,
    p.lost_bytes,
    p.at_end,
    p.bytes_at_end,
    p.requested_at_end,
    p.reserved_at_end,
    (select count(distinct owner) from memory_holder as h where h.trace_id = p.trace_id and h.device = p.device) as owners,
    (select coalesce(sum(bytes), 0)::bigint from memory_holder as h where h.trace_id = p.trace_id and h.device = p.device and owner is null) as ownerless_bytes,
    (select count(*) from allocator_event as e where e.trace_id = p.trace_id and e.device = p.device and action = 'oom') as failures,
    (select max(bytes) from allocator_event as e where e.trace_id = p.trace_id and e.device = p.device and action = 'oom') as failed_bytes
from memory_peak as p
where p.trace_id = $trace_id
order by p.bytes desc, p.device
