-- The places of named parts of fetches, for a finding each.
-- uses: fetch_range
select place
from fetch_range
order by place
