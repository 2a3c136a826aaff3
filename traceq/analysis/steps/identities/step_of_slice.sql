-- A GPU slice belongs to the step in which it was launched, by its own start where the launch is not in the trace, or where all steps
-- begin on the GPU, as those that it paces do (docs/metrics.md). What was
-- launched after all work of the last step belongs to none, although that step lasts until its own work ends.
with
pace as (
    select bool_and(ts is not distinct from gpu_ts) as is_gpu
    from step
    where trace_id = $trace_id
),

placed as (
    select g.slice_id, g.step, if(p.is_gpu, g.ts, coalesce(c.ts, g.ts)) as at
    from gpu_slice as g
    cross join pace as p
    left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id
),

own_step as (
    select step, ts, ts_end
    from step
    where trace_id = $trace_id
),

last_step as (
    select s.step, max(p.at) as last_launch
    from (select max(step) as step from own_step) as s
    left join placed as p on p.step = s.step
    group by s.step
)

select
    p.slice_id,
    p.step is distinct from (case when p.at < s.ts_end then s.step end)
    and not coalesce(p.step is null and s.step = l.step and p.at > l.last_launch, false) as is_broken,
    'gpu_slice ' || p.slice_id as place
from placed as p
asof left join own_step as s on p.at >= s.ts
cross join last_step as l
