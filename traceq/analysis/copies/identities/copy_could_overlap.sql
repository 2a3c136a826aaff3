-- The copies that end in a step can hide behind no more than the device computes in it.
with
copy as (
    select c.device, s.step, sum(c.could_overlap) as could_overlap
    from copy_overlap as c
    inner join gpu_slice as g on g.trace_id = c.trace_id and g.slice_id = c.slice_id
    inner join step as s on s.trace_id = c.trace_id and g.ts_end > s.ts and g.ts_end <= s.ts_end
    where c.trace_id = $trace_id
    group by c.device, s.step
),

compute as (
    select device, step, sum(dur) as dur
    from time_ledger
    where trace_id = $trace_id and category = 'compute'
    group by device, step
)

select
    device,
    step,
    c.could_overlap > coalesce(w.dur, 0) as is_broken,
    'device ' || device || ', step ' || step as place
from copy as c
left join compute as w using (device, step)
-- databases of traceq 0.1 count compute several times
where exists (select 1 from replay_step where trace_id = $trace_id)
