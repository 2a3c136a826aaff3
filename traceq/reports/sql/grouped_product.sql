-- Operators that compute several experts together, most time first.
select
    name,
    sum(calls)::bigint as calls,
    if(count(rows) = count(*), sum(rows), null)::bigint as rows,
    sum(dur)::bigint as dur_ns
from grouped_product
where trace_id = $trace_id
group by name
order by dur_ns desc nulls last, name
limit $top
