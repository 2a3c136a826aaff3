-- Which calls of the operating system the idle time was in, the longest first.
-- uses: idle
select coalesce(c.name, 'nothing named') as name, count(*) as gaps, sum(p.dur) / sum(sum(p.dur)) over () as idle_share
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_os'
group by c.name
order by idle_share desc, name
limit 3
