-- When most memory was in use on each device of a memory snapshot, since the start of its history.
with history as (
    select
        device,
        count(*) as events,
        min(ts) as ts,
        max(ts) - min(ts) as dur,
        count(*) filter (action = 'oom') as failures,
        max(bytes) filter (action = 'oom') as failed_bytes
    from allocator_event
    where trace_id = $trace_id
    group by device
)

select
    p.device,
    p.bytes as peak_bytes,
    p.ts - h.ts as after_ns,
    p.number,
    coalesce(h.events, 0) as events,
    h.dur as history_ns,
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
    coalesce(h.failures, 0) as failures,
    h.failed_bytes
from memory_peak as p
left join history as h using (device)
where p.trace_id = $trace_id
order by p.bytes desc, p.device
