-- An id belongs to one slice, whichever table it stands in.
with
slice as (
    select slice_id from cpu_slice where trace_id = $trace_id
    union all
    select slice_id from gpu_slice where trace_id = $trace_id
    union all
    select slice_id from gpu_annotation where trace_id = $trace_id
    union all
    select slice_id from synchronization where trace_id = $trace_id
    union all
    select slice_id from cuda_event where trace_id = $trace_id
)

select slice_id, count(*) > 1 as is_broken, 'slice ' || slice_id as place
from slice
group by slice_id
