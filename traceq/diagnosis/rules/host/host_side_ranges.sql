-- The places of ranges beside the model, for a finding each.
-- uses: side_range
select place, python_share
from side_range
order by place
