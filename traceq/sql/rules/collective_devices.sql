-- Collectives of the counted steps by GPU: the one that arrives last waits least in them.
select
    c.device,
    count(*) as collectives,
    (sum(c.dur) / (select count(*) from step where trace_id = $trace_id and excluded is null))::bigint as step_ns
from collective_slice as c
inner join step as s on s.trace_id = c.trace_id and s.step = c.step
where c.trace_id = $trace_id and s.excluded is null and c.op not in ('send', 'recv')
group by c.device
order by step_ns, c.device
