-- Which calls of the operating system the idle time was in, the longest first, each for as long as the host was in it.
select coalesce(c.name, 'nothing named') as name, sum(w.dur) / sum(sum(w.dur)) over () as idle_share
from (from _culprits($trace_id, 'rule_instances') where dur > 0) as w
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = w.slice_id
group by c.name
order by idle_share desc, name
limit 3
