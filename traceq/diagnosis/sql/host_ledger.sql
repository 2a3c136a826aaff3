-- Where the training thread's own time went in the counted steps: what findings share out where no GPU works.
select h.category, sum(h.dur)::bigint as dur
from host_ledger as h
inner join step as s using (trace_id, step)
where h.trace_id = $trace_id and s.excluded is null
group by h.category
order by dur desc, h.category
