-- Communication operations that the source describes.
select
    count(*) as collectives,
    count(bytes) as collectives_with_bytes,
    count(group_name) as collectives_with_group
from collective
where trace_id = $trace_id
