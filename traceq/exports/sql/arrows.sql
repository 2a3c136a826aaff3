-- GPU slices and the calls that launched them, both in the window.
insert into _arrow
select g.slice_id, g.launch_id
from gpu_slice as g
inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
where
    g.trace_id = $trace_id
    and g.ts <= $until
    and g.ts_end >= $since
    and c.ts <= g.ts
    and (c.ts_end >= $since or list_contains($kept::bigint[], c.slice_id))
