-- Copies of the counted steps by where they were asked for and how large they are; most exposed time first.
select
    category,
    position,
    size_class,
    count(*) as copies,
    if(count(bytes) = count(*), sum(bytes), null)::bigint as bytes,
    sum(c.dur)::bigint as dur_ns,
    sum(exposed)::bigint as exposed_ns,
    sum(bytes) / nullif(sum(c.dur) filter (bytes is not null), 0) as gb_per_s,
    max(best_bandwidth) as best_gb_per_s,
    max(link_bandwidth) as link_gb_per_s
from copy_overlap as c
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by category, position, size_class
order by exposed_ns desc, dur_ns desc, category, position, size_class
limit $top
