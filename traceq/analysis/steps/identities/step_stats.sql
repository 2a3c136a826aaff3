-- The statistics of steps are those of the steps that count; the first step stands for all.
with
counted as (
    select
        count(*) filter (excluded is null) as steps,
        count(*) filter (excluded is not null) as excluded,
        sum(dur) filter (excluded is null) as total,
        min(dur) filter (excluded is null) as shortest,
        max(dur) filter (excluded is null) as longest
    from step
    where trace_id = $trace_id
)

select
    step = (select min(step) from step where trace_id = $trace_id) and (
        s.steps is distinct from c.steps
        or s.excluded is distinct from c.excluded
        or s.total is distinct from c.total
        or s.min is distinct from c.shortest
        or s.max is distinct from c.longest
    ) as is_broken,
    'step_stats' as place
from step
cross join counted as c
left join (from step_stats where trace_id = $trace_id) as s using (trace_id)
where trace_id = $trace_id
