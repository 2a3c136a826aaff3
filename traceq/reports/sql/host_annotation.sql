-- Outermost annotations by total time; annotations that mark steps are looked through, payloads are no time.
with step_mark as (
    select slice_id
    from cpu_slice
    where
        trace_id = $trace_id and kind = 'annotation'
        and (name in (select name from step where trace_id = $trace_id) or regexp_matches(name, '^(ProfilerStep|traceq[.]step)#'))
)

select name, count(*) as count, sum(dur)::bigint as dur, max(dur) as longest
from cpu_slice
where
    trace_id = $trace_id and kind = 'annotation'
    and slice_id not in (from step_mark) and not starts_with(name, 'traceq.payload#')
    and (annotation_id is null or annotation_id in (from step_mark))
group by name
order by dur desc, name
limit $top
