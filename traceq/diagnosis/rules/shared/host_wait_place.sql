-- Where in the program a claim of host_wait.sql comes from: calls and time by place, the costliest first.
select operator, annotation, phase, name, count(distinct slice_id) as calls, sum(claimed)::double as claimed_ns, count(distinct step) as steps
from rule_instances
where claimed > 0
group by operator, annotation, phase, name
order by claimed_ns desc, operator, annotation, name
limit 3
