-- What the claim is on, by name, most time first.
select name, (sum(claimed) / sum(sum(claimed)) over ())::double as idle_share
from rule_instances
group by name
order by sum(claimed) desc, name
limit 5
