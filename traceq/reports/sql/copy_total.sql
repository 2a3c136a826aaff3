-- Copies of the counted steps per device and category; exposed is the ledger's figure. In a database that somebody changed what
-- is hidden can be below 0.
select
    device,
    category,
    sum(copies)::bigint as copies,
    if(count(bytes) = count(*), sum(bytes), null)::bigint as bytes,
    sum(c.dur)::bigint as dur_ns,
    sum(busy)::bigint as busy_ns,
    sum(overlapped)::bigint as overlapped_ns,
    greatest(sum(hidden), 0)::bigint as hidden_ns,
    sum(exposed)::bigint as exposed_ns,
    sum(could_overlap)::bigint as could_overlap_ns
from copy_total as c
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device, category
order by device, category = 'copy_other', category desc
