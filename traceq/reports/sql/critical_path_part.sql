-- What the critical path of the counted steps consists of: who is at work or waited for, and why.
select
    kind,
    cause,
    sum(p.dur)::bigint as dur_ns,
    sum(unexplained)::bigint as unexplained_ns,
    sum(p.dur) / sum(sum(p.dur)) over () as path_share
from critical_path as p
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by kind, cause
order by dur_ns desc, kind, cause
