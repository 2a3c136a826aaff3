-- Memory of devices over the counted steps in 60 parts of equal length: the most allocated, and what is left at the end.
-- Part -1 is before them; a part without samples has no row, and ends as the one before.
with span as (
    select min(ts) as ts, max(ts_end) as ts_end from step where trace_id = $trace_id and excluded is null
)

select
    device,
    greatest(-1, (60 * (m.ts - s.ts)) // nullif(s.ts_end - s.ts, 0))::integer as part,
    max(allocated) as highest_bytes,
    last(allocated order by m.ts, m.number) as last_bytes
-- as they were recorded where times are the same
from (select *, row_number() over () as number from memory_timeline where trace_id = $trace_id) as m
inner join span as s on m.ts < s.ts_end
where m.memory = 'device' and m.device is not null and m.allocated is not null
group by device, part
order by device, part
