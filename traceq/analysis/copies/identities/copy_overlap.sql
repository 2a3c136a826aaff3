-- Every copy that is no communication has one row, whose parts are not negative and add up to its duration.
with
part as (
    select
        slice_id,
        count(*) as times,
        max(dur) as dur,
        sum(overlapped + hidden + exposed) as total,
        min(least(overlapped, hidden, exposed, could_overlap, exposed - could_overlap)) as least_part
    from copy_overlap
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
from (select slice_id, dur from gpu_slice where trace_id = $trace_id and kind = 'memcpy' and not is_communication) as g
full join part as p using (slice_id)
