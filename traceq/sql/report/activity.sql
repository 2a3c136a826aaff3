-- What ran at all on any device, inside or outside compute: tells "never exposed" from "never happened".
select
    coalesce(bool_or(communication > 0), false) as communication,
    coalesce(bool_or(copy_h2d > 0), false) as copy_h2d,
    coalesce(bool_or(copy_d2h > 0), false) as copy_d2h,
    coalesce(bool_or(copy_other > 0), false) as copy_other,
    coalesce(bool_or(memset > 0), false) as memset
from device_activity
where trace_id = $trace_id
