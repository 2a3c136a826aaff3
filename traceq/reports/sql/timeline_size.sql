-- How many slices are drawn where those below $pixel ns, in detailed steps those below $fine ns, are drawn together: outside and in.
select count(*) filter (not is_fine) as coarse, count(*) filter (is_fine) as fine
from (
    select is_fine
    from timeline_slice
    group by
        lane,
        depth,
        is_fine,
        if(ts_end - ts >= if(is_fine, $fine, $pixel) or is_culprit, slice_id, null),
        if(ts_end - ts >= if(is_fine, $fine, $pixel) or is_culprit, ts, ts // if(is_fine, $fine, $pixel))
)
