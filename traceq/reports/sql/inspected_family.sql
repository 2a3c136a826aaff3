-- How many links were compared, by kind.
select kind, level, count(*) as links, count(*) filter (is_slow) as slow
from inspected_link
where trace_id = $trace_id
group by kind, level
order by kind, level
