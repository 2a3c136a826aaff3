-- The compiled region of PyTorch with most versions in the trace: "Torch-Compiled Region: frame/version".
select name, regexp_extract(name, '(\d+)/(\d+)', 2)::integer as version
from cpu_slice
where trace_id = $trace_id and kind in ('annotation', 'op') and regexp_matches(name, '^Torch-Compiled Region: \d+/[1-9]')
order by version desc, name
limit 1
