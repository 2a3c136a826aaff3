-- How many saves begin in the counted steps, in how many of these steps, and how long one takes; for how long their copies to the host
-- run, which a save in the background waits for as well (NULL where none is in the trace).
with
save as (
    select c.ts, c.dur
    from cpu_slice as c
    inner join host_name as h on h.trace_id = c.trace_id and h.kind = c.kind and h.name = c.name
    where c.trace_id = $trace_id and h.context = 'checkpoint' and c.context_id is null and c.depth is not null
),

copied as (
    select sum(o.dur) as dur, sum(o.bytes) as bytes
    from copy_overlap as o
    inner join (select step from step where trace_id = $trace_id and excluded is null) as s on s.step = o.step
    where o.trace_id = $trace_id and o.device = $device and o.category = 'copy_d2h' and o.position = 'checkpoint'
)

select
    count(*) as saves,
    count(distinct s.step) as steps,
    median(v.dur) as save_ns,
    any_value(c.dur) / count(*) as copy_ns,
    any_value(c.bytes) / count(*) as copy_bytes
from save as v
cross join copied as c
asof inner join (from step where trace_id = $trace_id) as s on v.ts >= s.ts
where v.ts < s.ts_end and s.excluded is null
