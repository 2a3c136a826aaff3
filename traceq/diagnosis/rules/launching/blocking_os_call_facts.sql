-- Which calls of the operating system the idle time was in, the longest first.
select coalesce(c.name, 'nothing named') as name, count(*) as gaps, sum(p.dur) / sum(sum(p.dur)) over () as idle_share
from idle_piece as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.trace_id = $trace_id and p.device = $device and p.cause = 'idle_os'
group by c.name
order by idle_share desc, name
limit 3
