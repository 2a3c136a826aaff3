-- Unusually long steps and what they have more of than the typical step, largest difference first.
select step, dur, typical_step, device, category, change
from outlier_step
where trace_id = $trace_id and (category is null or change <> 0)
order by dur desc, step, device, abs(change) desc, category
limit $top
