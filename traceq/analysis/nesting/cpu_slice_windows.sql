-- Where to cut time so that each window holds $rows slices: sorting whole rows needs memory for all that it sorts at once.
select ts
from (
    select ts, row_number() over (order by ts) as number
    from staging.cpu_slice
    where not coalesce(is_async, false)
)
where number % $rows = 0
order by ts;
