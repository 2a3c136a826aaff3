-- What a step of the late rank has more of than a step of this one, apart from communication.
with
busiest as (
    select trace_id, min_by(device, (-slices, device)) as device
    from (
        select trace_id, device, count(*) as slices
        from collective_slice
        where trace_id in ($trace_id, $late_trace)
        group by trace_id, device
    )
    group by trace_id
),

per_step as (
    select l.trace_id, l.category, sum(l.dur) / any_value(t.steps) as dur
    from time_ledger as l
    inner join busiest as b on b.trace_id = l.trace_id and b.device = l.device
    inner join step as s on s.trace_id = l.trace_id and s.step = l.step
    inner join step_stats as t on t.trace_id = l.trace_id
    where s.excluded is null and l.category <> 'communication'
    group by l.trace_id, l.category
)

select
    category,
    sum(if(trace_id = $late_trace, dur, 0)) as late_ns,
    sum(if(trace_id = $late_trace, 0, dur)) as own_ns,
    late_ns - own_ns as more_ns
from per_step
group by category
having more_ns > 0
order by more_ns desc, category
