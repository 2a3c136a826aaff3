-- What most of a claim has in common, by time: names that hold for at least half of it.
with
instance as (
    select null::bigint as gap_id, null::bigint as busy_id, null::varchar as scenario
    where false
    union all by name
    from rule_instances
),

piece as (
    select
        i.claimed,
        g.stream,
        coalesce(ph.phase, ls.phase) as phase,
        if(c.kind = 'annotation', c.name, a.name) as annotation,
        if(c.kind = 'op', c.name, o.name) as operator
    from (select slice_id, claimed from instance order by claimed desc, slice_id limit 500) as i
    left join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = i.slice_id
    left join launch_state as ls on ls.trace_id = $trace_id and ls.slice_id = i.slice_id
    left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = coalesce(g.launch_id, i.slice_id)
    left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = c.annotation_id
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = c.operator_id
    left join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = c.phase_id
    left join host_name as ph on ph.trace_id = $trace_id and ph.kind = p.kind and ph.name = p.name
),

common as (
    select 'stream' as what, stream::varchar as value, claimed from piece
    union all
    select 'phase', phase, claimed from piece
    union all
    select 'annotation', annotation, claimed from piece
    union all
    select 'operator', operator, claimed from piece
)

select what, value
from (
    select what, value, sum(claimed) / sum(sum(claimed)) over (partition by what) as share
    from common
    group by what, value
)
where value is not null and share >= 0.5
