-- The pieces that cost most.
with
instance as (
    select null::bigint as gap_id, null::bigint as busy_id, null::varchar as scenario
    where false
    union all by name
    from rule_instances
)

select * exclude (gap_id, busy_id, scenario)
from instance
order by claimed desc, step, ts, slice_id
limit $worst
