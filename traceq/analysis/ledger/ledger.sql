-- The ledger of the counted steps, per device and category; per device the parts add up to step_stats.total.
-- reads: step, time_ledger
select device, category, sum(l.dur)::bigint as dur
from time_ledger as l
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device, category
order by device, dur desc, category
