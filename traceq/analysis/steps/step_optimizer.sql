-- No marks around the steps, but the optimizer is marked: a step lasts from the end of one optimizer step to the end of
-- the next. What lies before the first and after the last is no complete step.
with
optimizer as (
    select thread_id, ts_end as t
    from cpu_slice
    where kind = 'annotation' and regexp_matches(name, '^Optimizer\.step#')
),

chosen as (
    select thread_id
    from optimizer
    group by thread_id
    having count(*) >= 3
    order by count(*) desc, thread_id
    limit 1
),

boundary as (
    select thread_id, t, lead(t) over (order by t) as next_t, row_number() over (order by t) as number
    from optimizer
    where thread_id = (from chosen)
)

select 'after optimizer step ' || number as name, thread_id, t as ts, next_t as own_end
from boundary
where next_t is not null
order by t;
