-- Modules of the counted steps of all devices, alike ones as one: those at the same place in the model but for numbers, as the layers
-- of a list. Inner time is in the modules around it, too; own time is in one module alone. Share: of the time of all compute kernels.
with
busy as (
    select sum(k.exclusive_dur) as dur
    from kernel_occupancy as k
    inner join step as s using (trace_id, step)
    where trace_id = $trace_id and s.excluded is null and k.family <> 'communication'
),

alike as (
    select *, regexp_replace(module, '(_|\.)\d+\b', '', 'g') as place, forward_dur + backward_dur as dur
    from module
    where trace_id = $trace_id
)

select
    a.place,
    any_value(a.depth) as depth,
    count(distinct a.module) as modules,
    sum(a.calls)::bigint as calls,
    sum(a.dur)::bigint as dur_ns,
    sum(a.backward_dur)::bigint as backward_ns,
    sum(a.own_dur)::bigint as own_ns,
    round(sum(a.dur) / nullif(any_value(b.dur), 0), 9) as kernel_share,
    round(sum(a.own_dur) / nullif(any_value(b.dur), 0), 9) as own_share,
    if(count(a.mfu) = count(*), round(sum(a.mfu * a.dur) / nullif(sum(a.dur), 0), 9), null) as mfu_share
from alike as a
cross join busy as b
group by a.place
order by a.place
