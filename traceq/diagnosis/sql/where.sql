-- The stream and the phase that at least half of the time of each claim has in common: idle time has the phase of what the host did
-- meanwhile.
with
claim as materialized (
    select claim, slice_id, claimed
    from claim_piece as p
    where
        list_contains($claims, claim)
        and not exists (from idle_culprit as k where k.trace_id = $trace_id and k.gap_id = p.gap_id and k.cause = p.cause)
),

largest as materialized (
    select *
    from claim
    qualify row_number() over (partition by claim order by claimed desc, slice_id) <= 500
),

on_gpu as materialized (
    select slice_id, stream, launch_id
    from gpu_slice
    where trace_id = $trace_id and slice_id in (select slice_id from largest)
),

-- Of millions of slices the few that are asked for: ids first, then what they are.
spent as materialized (
    select i.claim, i.claimed * a.claimed / l.claimed as claimed, i.slice_id, g.stream, coalesce(g.launch_id, i.slice_id) as call_id
    from largest as i
    inner join (select claim, sum(claimed) as claimed from claim group by claim) as a using (claim)
    inner join (select claim, sum(claimed) as claimed from largest group by claim) as l using (claim)
    left join on_gpu as g on g.slice_id = i.slice_id
    where i.claimed > 0
    union all
    select claim, dur, null, null, slice_id
    from claim_culprit
    where list_contains($claims, claim)
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
    select i.claim, i.claimed, i.stream, coalesce(h.phase, s.phase) as phase
    from spent as i
    left join state as s on s.slice_id = i.slice_id
    left join call as c on c.slice_id = i.call_id
    left join around as p on p.slice_id = c.phase_id
    left join host_name as h on h.trace_id = $trace_id and h.kind = p.kind and h.name = p.name
),

common as (
    select claim, 'stream' as what, stream::varchar as value, claimed from piece
    union all
    select claim, 'phase', phase, claimed from piece
)

select claim, what, value
from (
    select claim, what, value, sum(claimed) / sum(sum(claimed)) over (partition by claim, what) as share
    from common
    group by claim, what, value
)
where value is not null and share >= 0.5
