-- How the copies of the counted steps were asked for, migrations left out. NULL: known of none, or of some, and false of all those.
select
    category,
    count(*) as copies,
    if(count(is_pageable) = count(*) or bool_or(is_pageable), count(*) filter (is_pageable), null) as pageable,
    if(count(is_blocking) = count(*) or bool_or(is_blocking), count(*) filter (is_blocking), null) as blocking,
    if(
        count(is_blocking and is_async_call) = count(*) or bool_or(is_blocking and is_async_call),
        count(*) filter (is_blocking and is_async_call),
        null
    ) as blocking_async,
    count(returns_slice_id) as returning,
    (sum(bytes) filter (returns_slice_id is not null))::bigint as returning_bytes
from copy_overlap as c
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null and copy_kind is distinct from 'um'
group by category
order by category = 'copy_other', category desc
