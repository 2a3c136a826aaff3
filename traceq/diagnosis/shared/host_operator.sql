-- The training thread's operators in the counted steps that no other operator is around, in the order of time (number, from 1).
select
    c.slice_id, c.name, c.ts, c.ts_end, c.dur, c.annotation_id, s.step,
    coalesce(h.phase, 'other') as phase,
    p.name as phase_name,
    row_number() over (order by c.ts, c.slice_id) as number
from cpu_slice as c
asof inner join (select step, ts, ts_end from step where trace_id = $trace_id and excluded is null) as s on c.ts >= s.ts
left join cpu_slice as p on p.trace_id = c.trace_id and p.slice_id = c.phase_id
left join host_name as h on h.trace_id = p.trace_id and h.kind = p.kind and h.name = p.name
where
    c.trace_id = $trace_id
    and c.kind = 'op'
    and c.operator_id is null
    and c.dur > 0
    and c.ts < s.ts_end
    and c.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
