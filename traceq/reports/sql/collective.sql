-- Communication of the counted steps by operation, group and size class; most time first. Slices that overlap count twice.
select
    op,
    group_name,
    group_size,
    size_class as size_class_bytes,
    count(*) as slices,
    sum(bytes)::bigint as bytes,
    sum(c.dur)::bigint as dur_ns,
    sum(exposed)::bigint as exposed_ns,
    if(count(blocking) = count(*), sum(blocking), null)::bigint as blocking_ns,
    sum(bus_bandwidth * c.dur) / nullif(sum(c.dur), 0) as bus_gb_per_s
from collective_slice as c
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by op, group_name, group_size, size_class
order by dur_ns desc, op, group_name, size_class
limit $top
