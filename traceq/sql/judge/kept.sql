-- What is still asked of what a rule finds when others have been asked: which pieces it claims, and where they are.
with
instance as (
    select null::bigint as gap_id, null::bigint as busy_id
    where false
    union all by name
    from rule_instances
)

select slice_id, claimed, cause, gap_id, busy_id
from instance
