-- Collectives of the counted steps by GPU: the one that arrives last waits least in them.
-- uses: counted
-- threshold: far_shorter = 0.75: of the time that the GPU in question is in collectives: the last to arrive is in them for less
select
    c.device,
    count(*) as collectives,
    (sum(c.dur) / (select count(*) from counted))::bigint as step_ns
from collective_slice as c
inner join counted using (step)
where c.trace_id = $trace_id and c.op not in ('send', 'recv')
group by c.device
order by step_ns, c.device
