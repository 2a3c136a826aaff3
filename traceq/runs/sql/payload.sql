-- Work per counted step, as the payload marks say.
select p.key, avg(p.value) as per_step
from step_payload as p
inner join step as s using (trace_id, step)
where p.trace_id = $trace_id and s.excluded is null and p.key <> 'micro_batch'
group by p.key
order by p.key
