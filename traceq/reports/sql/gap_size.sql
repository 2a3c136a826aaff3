-- Gaps of the counted steps by size, smallest first: many small ones or few large ones.
select bucket, sum(gaps)::bigint as gaps, sum(h.dur)::bigint as dur
from idle_histogram as h
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by bucket
order by sum(h.dur) / sum(gaps)
