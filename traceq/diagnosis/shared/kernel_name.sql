-- Names of kernels of the device: few and long, kernels are many.
select distinct name
from gpu_slice
where trace_id = $trace_id and device = $device and kind = 'kernel'
