-- Whether any range is an operator of PyTorch (emit_nvtx).
select 1 as found
from cpu_slice
where trace_id = $trace_id and kind = 'annotation' and starts_with(name, 'aten::')
limit 1
