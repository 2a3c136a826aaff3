-- GPU work whose name fits a pattern.
select slice_id
from gpu_slice
where name glob $pattern
