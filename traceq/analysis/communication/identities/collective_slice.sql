-- Every GPU slice of communication has one row; it is overlapped or exposed, and what it holds up is part of what is exposed.
with
part as (
    select
        slice_id,
        count(*) as times,
        max(dur) as dur,
        sum(overlapped + exposed) as total,
        min(least(overlapped, exposed, coalesce(blocking, 0), exposed - coalesce(blocking, 0))) as least_part
    from collective_slice
    where trace_id = $trace_id
    group by slice_id
)

select
    slice_id,
    p.times is distinct from 1
    or g.dur is distinct from p.dur
    or p.total is distinct from p.dur
    or coalesce(p.least_part < 0, true) as is_broken,
    'gpu_slice ' || slice_id as place
from (select slice_id, dur from gpu_slice where trace_id = $trace_id and is_communication) as g
full join part as p using (slice_id)
