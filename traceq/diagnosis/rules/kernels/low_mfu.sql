-- How much of the peak the counted steps use, and how much of them the GPU computes.
-- uses: counted
-- remarks: yes
with
compute as (
    select step, sum(dur) as dur
    from time_ledger
    where trace_id = $trace_id and device = $device and category = 'compute'
    group by step
)

select
    count(*) as steps,
    sum(m.mfu * c.dur) / sum(c.dur) as mfu_share,
    sum(p.dur) / sum(c.dur) as compute_share,
    sum(m.mfu * c.dur) / nullif(sum(m.gpu_dur), 0) as kernel_efficiency_share,
    sum(m.gpu_dur) / nullif(sum(p.dur), 0) as matrix_share,
    sum(m.achieved * c.dur) / sum(c.dur) as achieved
from counted
inner join step as c on c.trace_id = $trace_id and c.step = counted.step
inner join step_mfu as m on m.trace_id = $trace_id and m.device = $device and m.step = c.step
inner join compute as p on p.step = c.step
where m.mfu is not null
having count(*) > 0
