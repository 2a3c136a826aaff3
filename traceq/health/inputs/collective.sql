-- Communication that the source describes, and what is known of the GPU slices that carry it out.
select
    (select count(*) from collective where trace_id = $trace_id) as collectives,
    count(bytes) as communication_with_bytes,
    count(group_name) as communication_with_group,
    count(blocking) as communication_with_blocking
from collective_slice
where trace_id = $trace_id
