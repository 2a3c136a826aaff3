-- The places of named parts of fetches, for a finding each.
-- uses: host_time, fetch_part, fetch_range
select place
from fetch_range
order by place
