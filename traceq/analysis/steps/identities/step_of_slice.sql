-- A GPU slice belongs to the step in which it was launched, by its own start where the launch is not in the trace, or where the GPU
-- paces the steps (docs/metrics.md). Nothing says that it does but that all steps begin on it, which can be by chance: then the reading
-- that fits more slices counts. What was launched after all work of the last step belongs to none, although that step lasts until its
-- own work ends.
with
reading as (
    select false as is_by_start
    union all
    select true
    from step
    where trace_id = $trace_id
    having bool_and(ts is not distinct from gpu_ts)
),

placed as (
    select r.is_by_start, g.slice_id, g.step, if(r.is_by_start, g.ts, coalesce(c.ts, g.ts)) as at
    from gpu_slice as g
    cross join reading as r
    left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id
),

own_step as (
    select step, ts, ts_end
    from step
    where trace_id = $trace_id
),

last_step as (
    select r.is_by_start, s.step, max(p.at) as last_launch
    from (select max(step) as step from own_step) as s
    cross join reading as r
    left join placed as p on p.step = s.step and p.is_by_start = r.is_by_start
    group by r.is_by_start, s.step
),

looked_at as (
    select
        p.is_by_start, p.slice_id,
        p.step is distinct from (case when p.at < s.ts_end then s.step end)
        and not coalesce(p.step is null and s.step = l.step and p.at > l.last_launch, false) as is_broken
    from placed as p
    asof left join own_step as s on p.at >= s.ts
    inner join last_step as l on l.is_by_start = p.is_by_start
),

fitting as (
    select is_by_start
    from looked_at
    group by is_by_start
    order by count(*) filter (is_broken), is_by_start
    limit 1
)

select slice_id, is_broken, 'gpu_slice ' || slice_id as place
from looked_at
inner join fitting using (is_by_start)
