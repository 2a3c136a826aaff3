-- Which share of the bytes from the host the claimed copies are.
-- uses: counted_copy
select sum(i.bytes) / (select sum(bytes) from counted_copy where direction = 'h2d') as share
from rule_instances as i
