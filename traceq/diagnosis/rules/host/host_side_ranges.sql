-- The places of ranges beside the model, for a finding each.
-- uses: host_time, side_work, side_range
select place, coalesce(python_share, 0) as python_share
from side_range
order by place
