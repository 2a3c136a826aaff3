-- The stream and the phase that at least half of a claim's time has in common: idle time has the phase of what the host did meanwhile.
with
claim as materialized (
    select *, gap_id is not null and (gap_id, cause) in (select (gap_id, cause) from idle_culprit where trace_id = $trace_id) as is_late
    from claim_piece
    where claim = $claim
),

late as (
    select gap_id, cause, claimed
    from claim
    where is_late
),

largest as materialized (
    select slice_id, claimed
    from claim
    where not is_late
    order by claimed desc, slice_id
    limit 500
),

on_gpu as materialized (
    select slice_id, stream, launch_id
    from gpu_slice
    where trace_id = $trace_id and slice_id in (select slice_id from largest)
),

-- Of millions of slices the few that are asked for: ids first, then what they are.
spent as materialized (
    select i.claimed * (select sum(claimed) from claim where not is_late) / (select sum(claimed) from largest) as claimed, i.slice_id, g.stream, coalesce(g.launch_id, i.slice_id) as call_id
    from largest as i
    left join on_gpu as g on g.slice_id = i.slice_id
    where i.claimed > 0
    union all
    select dur, null, null, slice_id
    from _culprits($trace_id, 'late')
),

call as materialized (
    select slice_id, phase_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select call_id from spent)
),

around as materialized (
    select slice_id, kind, name
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select phase_id from call)
),

state as materialized (
    select slice_id, phase
    from launch_state
    where trace_id = $trace_id and slice_id in (select slice_id from largest)
),

piece as (
    select i.claimed, i.stream, coalesce(h.phase, s.phase) as phase
    from spent as i
    left join state as s on s.slice_id = i.slice_id
    left join call as c on c.slice_id = i.call_id
    left join around as p on p.slice_id = c.phase_id
    left join host_name as h on h.trace_id = $trace_id and h.kind = p.kind and h.name = p.name
),

common as (
    select 'stream' as what, stream::varchar as value, claimed from piece
    union all
    select 'phase', phase, claimed from piece
)

select what, value
from (
    select what, value, sum(claimed) / sum(sum(claimed)) over (partition by what) as share
    from common
    group by what, value
)
where value is not null and share >= 0.5
