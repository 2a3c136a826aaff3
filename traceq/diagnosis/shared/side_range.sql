-- Ranges and functions of the training thread beside the model, most time first (place, from 1): those named for measuring or preparing, and
-- others in which most of the time is in no operator. Digits are left out of names.
-- uses: host_time, side_work
-- threshold: least_share = 0.05: a range that takes less of the steps is not what is meant
-- threshold: most_of_steps = 0.9: a range around nearly all of a step is the step
-- threshold: least_python = 0.5: in a range with more operators than Python the operators are what takes the time
with
spent as (
    select
        coalesce(w.range, r.range) as range,
        bool_or(w.range is not null) as is_named,
        sum(p.dur) as dur,
        sum(p.dur) filter (p.category in ('annotation', 'python')) as own
    from host_time as p
    asof left join (select *, regexp_replace(name, '\d+', '#', 'g') as range from side_work where work in ('measuring', 'preparing')) as w0 on p.ts >= w0.ts
    left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
    left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = if(c.kind = 'annotation', c.slice_id, c.annotation_id)
    cross join lateral (select if(p.ts < w0.ts_end, w0.range, null) as range) as w
    cross join lateral (select regexp_replace(a.name, '\d+', '#', 'g') as range) as r
    where p.category <> 'data' and p.elsewhere is null and p.phase not in ('backward', 'optimizer')
    group by coalesce(w.range, r.range)
)

select row_number() over (order by dur desc, range) as place, range, own / dur as python_share
from spent
where
    range is not null
    and dur between $least_share * (select sum(dur) from host_time) and $most_of_steps * (select sum(dur) from host_time)
    and (
        is_named
        or (
            own >= $least_python * dur
            and not regexp_matches(range, '^(ProfilerStep|traceq\.|nn\.Module|Optimizer\.|DistributedDataParallel|enumerate\(|autograd|torch|## |Torch-Compiled|Compiled)')
        )
    )
    and exists (select slice_id from cpu_slice where trace_id = $trace_id and kind = 'op')
order by place
limit 3
