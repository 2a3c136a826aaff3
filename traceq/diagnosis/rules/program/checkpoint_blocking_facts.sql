-- How many saves begin in the counted steps, in how many of these steps, and how long one takes.
with
save as (
    select c.ts, c.dur
    from cpu_slice as c
    inner join host_name as h on h.trace_id = c.trace_id and h.kind = c.kind and h.name = c.name
    where c.trace_id = $trace_id and h.context = 'checkpoint' and c.context_id is null and c.depth is not null
)

select count(*) as saves, count(distinct s.step) as steps, median(v.dur) as save_ns
from save as v
asof inner join (from step where trace_id = $trace_id) as s on v.ts >= s.ts
where v.ts < s.ts_end and s.excluded is null
