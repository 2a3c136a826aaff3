-- Annotations whose name matches $pattern, on the one thread that has most of them (data-parallel processes in one
-- capture each have their own). A match that starts before the previous one has ended is nested, not a step.
with
matching as (
    select thread_id, slice_id, name, ts, ts_end
    from cpu_slice
    where kind = 'annotation' and dur > 0 and regexp_matches(name, $pattern)
),

chosen as (
    select thread_id
    from matching
    group by thread_id
    order by count(*) desc, thread_id
    limit 1
),

ordered as (
    select
        *,
        max(ts_end) over (order by ts, ts_end desc, slice_id rows between unbounded preceding and 1 preceding) as busy_until
    from matching
    where thread_id = (from chosen)
)

select name, thread_id, ts, ts_end as own_end
from ordered
where busy_until is null or ts >= busy_until
order by ts;
