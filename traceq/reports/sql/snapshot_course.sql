-- Memory in use over the history of a memory snapshot in 60 parts: the most, and what is left at the end. Parts are of equal length,
-- or of equally many events where these have no times.
with
history as (
    select device, min(ts) as ts, greatest(max(ts) - min(ts), 1) as dur, greatest(max(number), 1) as last_number
    from allocator_event
    where trace_id = $trace_id
    group by device
),

-- as they were recorded where times are the same
timed as (
    select m.device, row_number() over () as number, least(60::hugeint * (m.ts - h.ts) // h.dur, 59)::integer as part, m.active
    from memory_timeline as m
    inner join history as h using (device)
    where m.trace_id = $trace_id and m.memory = 'device' and m.active is not null
),

changed as (
    select device, coalesce(event, -1) as number, requested_bytes as active from allocation where trace_id = $trace_id
    union all
    select device, event_end, -requested_bytes from allocation where trace_id = $trace_id and event_end is not null
),

ordered as (
    select
        c.device,
        c.number,
        least(60 * greatest(c.number, 0) // h.last_number, 59)::integer as part,
        (sum(sum(c.active)) over (partition by c.device order by c.number rows unbounded preceding))::bigint as active
    from changed as c
    inner join history as h using (device)
    where h.ts is null
    group by c.device, c.number, h.last_number
)

select device, part, max(active) as highest_bytes, last(active order by number) as last_bytes
from (from timed union all by name from ordered)
group by device, part
order by device, part
