-- Outermost annotations by total time; annotations that mark steps are looked through.
with step_mark as (
    select slice_id
    from cpu_slice
    where
        trace_id = $trace_id and kind = 'annotation'
        and name in (select name from step where trace_id = $trace_id)
)

select name, count(*) as count, sum(dur)::bigint as dur, max(dur) as longest
from cpu_slice
where
    trace_id = $trace_id and kind = 'annotation'
    and slice_id not in (from step_mark)
    and (annotation_id is null or annotation_id in (from step_mark))
group by name
order by dur desc, name
limit $top
