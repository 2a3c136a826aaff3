-- What was measured in the counted steps, idle time included: means over the samples.
select device, metric, sum(mean * samples) / sum(samples) as mean_share, max(highest) as highest_share, sum(samples)::bigint as samples
from gpu_metric_step
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device, metric
order by device, metric
