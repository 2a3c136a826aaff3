-- Operations of the counted steps per device against the peak; NULL unless the peak of all is known.
select
    device,
    sum(flops) / count(*) as flops_per_step,
    sum(m.gpu_dur)::bigint as gpu_ns,
    sum(flops) / nullif(sum(s.dur), 0) / 1000 as tflop_per_s,
    if(count(mfu) = count(*), sum(mfu * s.dur) / nullif(sum(s.dur), 0), null) as mfu_share,
    if(count(mfu) = count(*), sum(mfu * s.dur) / nullif(sum(m.gpu_dur), 0), null) as kernel_efficiency_share
from step_mfu as m
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device
order by device
