-- Counted steps of a server by kind.
select kind, count(*) as steps
from serving_step
where trace_id = $trace_id and excluded is null and kind is not null
group by kind
order by kind
