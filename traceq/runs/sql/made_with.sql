-- What the run was made with, a row for each name: of several GPUs all they say, of loaders and optimizers the first of each.
select name, string_agg(distinct value, ', ' order by value) as value
from made_with
where trace_id = $trace_id and (instance = 0 or topic = 'gpu')
group by name
order by name
