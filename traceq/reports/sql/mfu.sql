-- Operations of the counted steps per device against the peak; NULL unless all are known with their peaks. unknown_ns: kernels of
-- products whose operations are not.
select
    device,
    sum(flops) / count(*) as flops_per_step,
    sum(m.gpu_dur)::bigint as gpu_ns,
    sum(m.unknown_dur)::bigint as unknown_ns,
    sum(flops) / nullif(sum(s.dur), 0) / 1000 as tflop_per_s,
    if(count(mfu) = count(*), sum(mfu * s.dur) / nullif(sum(s.dur), 0), null) as mfu_share,
    if(count(kernel_efficiency) = count(*), sum(kernel_efficiency * m.gpu_dur) / nullif(sum(m.gpu_dur), 0), null) as kernel_efficiency_share
from step_mfu as m
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device
order by device
