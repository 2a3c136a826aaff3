-- What the host was in while it was late to launch: by phase and operator, and whether in the call or in what is around it. The slice
-- of a piece is the one with most of its time.
-- uses: idle
with
piece as (
    select p.dur, c.kind = 'runtime' as is_call, coalesce(o.name, c.name) as name, coalesce(s.phase, 'other') as phase
    from idle as p
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    left join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = if(c.kind = 'op', c.slice_id, c.operator_id)
    left join launch_state as s on s.trace_id = p.trace_id and s.slice_id = p.next_slice_id
    where p.cause = 'idle_launch'
),

total as (
    select sum(dur) as dur
    from piece
)

select 'phase' as what, phase as name, sum(p.dur) / any_value(t.dur) as idle_share
from piece as p
cross join total as t
where phase <> 'other'
group by phase
union all
select 'operator', name, sum(p.dur) / any_value(t.dur)
from piece as p
cross join total as t
group by name
union all
select 'call', 'call', coalesce(sum(p.dur) filter (is_call), 0) / any_value(t.dur)
from piece as p
cross join total as t
order by what, idle_share desc, name
