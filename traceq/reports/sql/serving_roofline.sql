-- What counted decode steps take at least to read weights and KV cache, and why that is not known of others.
select
    reason,
    count(*) as steps,
    median(dur) as p50_ns,
    median(least_dur) as least_p50_ns,
    median(roofline_share) as roofline_share,
    max(weight_bytes) as weight_bytes,
    count(kv_bytes) as steps_with_kv
from serving_roofline as r
inner join serving_step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by reason
order by reason nulls first
