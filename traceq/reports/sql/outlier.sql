-- Unusually long steps and what they have more of than the typical step, largest difference first. What $top leaves out of
-- a step and device is in a row of its own, so that the changes still add up.
with
ranked as (
    select
        *,
        row_number() over (order by dur desc, step, device, abs(change) desc, category) as place
    from outlier_step
    where trace_id = $trace_id and (category is null or change <> 0)
)

select
    step,
    dur,
    typical_step,
    device,
    if(place <= $top, category, 'the rest') as category,
    sum(change)::bigint as change
from (select *, min(place) over (partition by step, device) as first_place from ranked)
where first_place <= $top
group by step, dur, typical_step, device, if(place <= $top, category, 'the rest')
order by min(place)
