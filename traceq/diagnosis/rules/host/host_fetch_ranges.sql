-- Ranges, and frames of the program's own files, inside the fetches of a loader that works in the training process: time of the training
-- thread in each, most first. Digits are left out of names.
-- uses: host_time
-- threshold: least_share = 0.05: a range that takes less of the steps is not what is meant
select range, part_name, dur
from (
    select
        regexp_replace(r.name, '\d+', '#', 'g') as range,
        any_value(r.name order by r.slice_id) as part_name,
        sum(p.dur) as dur
    from host_time as p
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
    inner join cpu_slice as f on f.trace_id = $trace_id and f.slice_id = p.context_slice_id
    inner join cpu_slice as r
        on r.trace_id = $trace_id
        and r.slice_id = coalesce(
            nullif(if(c.kind = 'annotation', c.slice_id, c.annotation_id), f.slice_id),
            if(_is_line(c.kind, c.name), c.slice_id, c.line_id)
        )
    where p.category = 'data' and r.ts >= f.ts and r.slice_id <> f.slice_id and not contains(r.name, '#_SingleProcessDataLoaderIter')
    group by range
)
where dur >= $least_share * (select sum(dur) from host_time)
order by dur desc, range
limit 3
