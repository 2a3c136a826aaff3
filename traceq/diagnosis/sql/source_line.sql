-- The innermost Python frame around a slice of the host.
with recursive around as (
    select slice_id, parent_id, kind, name, 0 as distance
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id = coalesce(
            (select launch_id from gpu_slice where trace_id = $trace_id and slice_id = $slice_id), $slice_id
        )
    union all
    select c.slice_id, c.parent_id, c.kind, c.name, a.distance + 1
    from around as a
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = a.parent_id
)

select name
from around
where kind = 'python' and regexp_matches(name, '\.py\(\d+\)') and not regexp_matches(name, '(^|/)(torch|threading)/')
order by distance
limit 1
