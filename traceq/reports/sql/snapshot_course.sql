-- Memory in use over the history of a memory snapshot in 60 parts of equal length: the most, and what is left at the end.
with history as (
    select device, min(ts) as ts, greatest(max(ts) - min(ts), 1) as dur
    from allocator_event
    where trace_id = $trace_id
    group by device
)

select
    m.device,
    least(60::hugeint * (m.ts - h.ts) // h.dur, 59)::integer as part,
    max(m.active) as highest_bytes,
    last(m.active order by m.ts, m.number) as last_bytes
-- as they were recorded where times are the same
from (select *, row_number() over () as number from memory_timeline where trace_id = $trace_id) as m
inner join history as h using (device)
where m.memory = 'device' and m.active is not null
group by m.device, part
order by m.device, part
