-- What a rule claims of each piece of the ledger.
insert into _claim
with
instance as (
    select null::bigint as gap_id, null::bigint as busy_id, null::varchar as scenario
    where false
    union all by name
    from rule_instances
)

select $claim as claim, cause, gap_id, busy_id, sum(claimed::decimal(18, 3)) as claimed
from instance
group by cause, gap_id, busy_id
