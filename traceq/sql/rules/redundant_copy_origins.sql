-- What copies inside the device are asked for by, most time first.
select origin, sum(claimed) as claimed
from rule_instances
group by origin
order by claimed desc, origin
