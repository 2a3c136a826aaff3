-- How many workers are seen, and how busy the busiest of them is, and the others are.
with
worker as (
    select thread_id, sum(busy) / sum(dur) as busy_share
    from data_worker
    where trace_id = $trace_id and role = 'worker'
    group by thread_id
    having bool_and(busy is not null) and sum(dur) > 0
),

placed as (
    select busy_share, row_number() over (order by busy_share desc, thread_id) as place
    from worker
)

select count(*) as workers, max(busy_share) as busiest_share, median(busy_share) filter (place > 1) as others_share
from placed
