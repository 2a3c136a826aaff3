-- The GPUs of a trace that worked, the busiest first: what the trace calls each, the model, and the multiprocessors of both.
select d.device, d.name, d.model, d.sm_count, m.sm_count as model_sm_count
from device_model as d
inner join (
    select device, sum(dur) as dur
    from gpu_slice
    where trace_id = $trace_id
    group by device
) as g using (device)
left join gpu_model as m using (model)
where d.trace_id = $trace_id
order by g.dur desc, d.device;
