-- Where the training thread's own time went in the counted steps; the parts add up to step_stats.total.
select h.category, h.phase, sum(h.dur)::bigint as dur
from host_ledger as h
inner join step as s using (trace_id, step)
where h.trace_id = $trace_id and s.excluded is null
group by h.category, h.phase
order by dur desc, h.category, h.phase
