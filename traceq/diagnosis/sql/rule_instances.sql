-- The pieces that a rule's query finds, with the columns that it may leave out.
select
    null::bigint as gap_id, null::bigint as busy_id, null::varchar as scenario, null::double as goes_low,
    null::double as goes,
    null::double as goes_high
where false
union all by name
from found
