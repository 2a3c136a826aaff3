-- How many slices of each kind the trace holds.
select 'cpu_slice' as table_name, kind, count(*) as slices
from cpu_slice
where trace_id = $trace_id
group by kind
union all
select 'gpu_slice', kind, count(*)
from gpu_slice
where trace_id = $trace_id
group by kind
order by table_name, slices desc, kind
