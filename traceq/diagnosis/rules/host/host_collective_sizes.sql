-- How many collectives of gloo the trace has, and of how many the shapes of their tensors are known.
select count(*) as collectives, count(*) filter (contains(args, '"Input Dims"')) as sized
from cpu_slice
where trace_id = $trace_id and starts_with(name, 'gloo:')
