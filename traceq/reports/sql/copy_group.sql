-- Copies of the counted steps by where they were asked for and how large they are; most exposed time first. Pageable and
-- blocking: those known to be; NULL when it is known of none, or of some and none of them is.
select
    category,
    position,
    size_class,
    count(*) as copies,
    sum(c.dur)::bigint as dur_ns,
    sum(exposed)::bigint as exposed_ns,
    if(count(is_pageable) = count(*) or bool_or(is_pageable), count(*) filter (is_pageable), null) as pageable,
    if(count(is_blocking) = count(*) or bool_or(is_blocking), count(*) filter (is_blocking), null) as blocking,
    count(returns_slice_id) as returning,
    sum(bytes) filter (c.dur > 0) / nullif(sum(c.dur) filter (bytes is not null), 0) as gb_per_s,
    max(best_bandwidth) as best_gb_per_s
from copy_overlap as c
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by category, position, size_class
order by exposed_ns desc, dur_ns desc, category, position, size_class
limit $top
