-- What most of a claim has in common, by time: names that hold for at least half of it.
with
largest as materialized (
    select slice_id, claimed
    from claim_piece
    where claim = $claim
    order by claimed desc, slice_id
    limit 500
),

on_gpu as materialized (
    select slice_id, stream, launch_id
    from gpu_slice
    where trace_id = $trace_id and slice_id in (select slice_id from largest)
),

-- Of millions of slices the few that are asked for: ids first, then what they are.
launched as materialized (
    select i.claimed, i.slice_id, g.stream, coalesce(g.launch_id, i.slice_id) as call_id
    from largest as i
    left join on_gpu as g on g.slice_id = i.slice_id
),

call as materialized (
    select slice_id, kind, name, annotation_id, operator_id, phase_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select call_id from launched)
),

around as materialized (
    select slice_id, kind, name
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id in (
            select annotation_id from call union select operator_id from call union select phase_id from call
        )
),

state as materialized (
    select slice_id, phase
    from launch_state
    where trace_id = $trace_id and slice_id in (select slice_id from largest)
),

piece as (
    select
        i.claimed,
        i.stream,
        coalesce(ph.phase, ls.phase) as phase,
        if(c.kind = 'annotation', c.name, a.name) as annotation,
        if(c.kind = 'op', c.name, o.name) as operator
    from launched as i
    left join state as ls on ls.slice_id = i.slice_id
    left join call as c on c.slice_id = i.call_id
    left join around as a on a.slice_id = c.annotation_id
    left join around as o on o.slice_id = c.operator_id
    left join around as p on p.slice_id = c.phase_id
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
