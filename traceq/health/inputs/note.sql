-- Kinds of oddities that cost something.
select severity, code, sum(count)::bigint as count
from import_note
where trace_id = $trace_id and severity <> 'info'
group by severity, code
order by severity desc, code
