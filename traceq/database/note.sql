select severity, code, sum(count)::bigint as count, text
from import_note
where trace_id = $trace_id
group by severity, code, text
order by case severity when 'error' then 0 when 'data_loss' then 1 else 2 end, code, text
