-- What the host was in while it was late to launch: by phase of the gaps, by operator, and whether in a call or in one of the operating system, for as long as it was in each;
-- and of PyTorch's operators those that compute for so long by themselves that it is no launching.
with
own as materialized (
    from _culprits($trace_id, 'rule_instances')
),

host as (
    select w.dur, c.kind = 'runtime' as is_call, c.kind = 'os' as is_system, coalesce(o.name, c.name) as name, o.slice_id as operator_id
    from own as w
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = w.slice_id
    left join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = if(c.kind = 'op', c.slice_id, c.operator_id)
),

gap as (
    select r.claimed as dur, coalesce(s.phase, 'other') as phase
    from rule_instances as r
    inner join idle_gap as g on g.trace_id = $trace_id and g.gap_id = r.gap_id
    left join launch_state as s on s.trace_id = g.trace_id and s.slice_id = g.next_slice_id
)

select 'phase' as what, phase as name, sum(dur) / (select sum(dur) from gap) as idle_share
from gap
group by phase
having phase <> 'other'
union all
select 'operator', name, sum(dur) / (select sum(dur) from host)
from host
group by name
union all
select 'call', 'call', coalesce(sum(dur) filter (is_call), 0) / (select sum(dur) from host)
from host
union all
select 'long', name, sum(dur) / (select sum(dur) from host)
from (
    select name, sum(dur) as dur
    from host
    where starts_with(name, 'aten::') and operator_id is not null and not is_call and not is_system
    group by operator_id, name
    having sum(dur) >= $between_ns
)
group by name
union all
select 'system', 'system', coalesce(sum(dur) filter (is_system), 0) / (select sum(dur) from host)
from host
order by what, idle_share desc, name
