-- The host slices that the time of claims was spent in, with the claims whose time that is, each with its own share of it, and all slices
-- around them: a tree by parent_id. Idle time is spent in what the host did meanwhile; all else, of which the largest pieces stand for the
-- rest, in the slice that it is on, and of GPU work in the call that launched it; of a kernel of a graph in what launched it when the
-- graph was captured, where that is known: inside the launch of the graph, lines with ids below zero. The row without a slice has what no slice explains.
with recursive
claim as materialized (
    select claim, coalesce(busy_id, slice_id) as slice_id, claimed
    from claim_piece as p
    where
        list_contains($claims, claim)
        and claimed > 0
        and not exists (from idle_culprit as k where k.trace_id = $trace_id and k.gap_id = p.gap_id and k.cause = p.cause)
),

other as materialized (
    select claim, slice_id, sum(claimed) as claimed
    from claim
    group by claim, slice_id
    qualify row_number() over (partition by claim order by sum(claimed) desc, slice_id) <= 500
),

replayed as materialized (
    select
        slice_id, launch_id, line,
        coalesce(operator_id, launch_id) as around_id,
        if(line is null, around_id, -dense_rank() over (order by around_id, line)) as node_id
    from graph_kernel
    where trace_id = $trace_id and slice_id in (select slice_id from other)
),

own as materialized (
    select slice_id, list({'claim': claim, 'dur': dur}) as claims
    from (
        select claim, slice_id, sum(dur)::double as dur
        from (
            from claim_culprit where list_contains($claims, claim)
            union all
            select o.claim, coalesce(r.node_id, if(g.slice_id is null, o.slice_id, g.launch_id)), o.claimed * a.claimed / l.claimed
            from other as o
            inner join (select claim, sum(claimed) as claimed from claim group by claim) as a using (claim)
            inner join (select claim, sum(claimed) as claimed from other group by claim) as l using (claim)
            left join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = o.slice_id
            left join replayed as r on r.slice_id = o.slice_id
        )
        group by claim, slice_id
    )
    group by slice_id
),

-- Ids first, then names of those only. The limit cuts nothing off: it tells the planner, which takes a chain for endless, that these are few.
-- `in` and not a join: of a join DuckDB would hold all slices of the host.
chain (slice_id, parent_id) as (
    select slice_id, parent_id
    from cpu_slice
    where
        trace_id = $trace_id
        and slice_id in (select slice_id from own where slice_id is not null union all select launch_id from replayed)
    union
    select slice_id, parent_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select parent_id from chain limit 3000000)
),

captured (slice_id, parent_id, name) as (
    select slice_id, coalesce(operator_id, launch_id), name
    from graph_operator
    where trace_id = $trace_id and slice_id in (select around_id from replayed)
    union
    select slice_id, coalesce(operator_id, launch_id), name
    from graph_operator
    where trace_id = $trace_id and slice_id in (select parent_id from captured)
),

node as (
    select slice_id, parent_id, kind, name
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select slice_id from chain limit 3000000)
    union all
    select slice_id, parent_id, 'op', name from captured
    union all
    select distinct node_id, around_id, 'python', line from replayed where line is not null
)

select slice_id, n.parent_id, n.kind, n.name, coalesce(_is_line(n.kind, n.name), false) as is_line, o.claims
from node as n
full join own as o using (slice_id)
order by slice_id
