-- The statistics of steps are those of the steps that count.
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
),

judged as (
    select
        c.steps + c.excluded as steps,
        s.steps is distinct from c.steps
        or s.excluded is distinct from c.excluded
        or s.total is distinct from c.total
        or s.min is distinct from c.shortest
        or s.max is distinct from c.longest as is_broken
    from counted as c
    left join (from step_stats where trace_id = $trace_id) as s on true
)

select
    coalesce(max(steps), 0) as checked,
    count(*) filter (is_broken) as broken,
    case when bool_or(is_broken) then 'step_stats' end as example
from judged
