-- Communication on the host (Gloo, MPI, UCX) that starts in the counted steps; calls of several threads add up.
select library, op, count(*) as calls, sum(bytes)::bigint as bytes, sum(c.dur)::bigint as dur_ns, max(c.dur) as longest_ns
from host_collective as c
asof inner join step as s on s.trace_id = c.trace_id and c.ts >= s.ts
where c.trace_id = $trace_id and s.excluded is null and c.ts < s.ts_end
group by library, op
order by dur_ns desc, library, op
limit $top
