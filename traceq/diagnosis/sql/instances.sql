-- The pieces that cost most.
select * exclude (gap_id, busy_id, scenario, goes_low, goes, goes_high)
from rule_instances
order by claimed desc, step, ts, slice_id
limit $worst
