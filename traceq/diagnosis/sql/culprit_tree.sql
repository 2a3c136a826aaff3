-- The host slices that a claim's time was spent in, each with its own share of it, and all slices around them: a tree by parent_id. Idle time
-- is spent in what the host did meanwhile; all else, of which the largest pieces stand for the rest, in the slice that it is on, and of
-- GPU work in the call that launched it. The row without a slice has what no slice explains.
with recursive
claim as materialized (
    select *, gap_id is not null and (gap_id, cause) in (select (gap_id, cause) from idle_culprit where trace_id = $trace_id) as is_late
    from claim_piece
    where claim = $claim and claimed > 0
),

late as (
    select gap_id, cause, claimed
    from claim
    where is_late
),

other as materialized (
    select coalesce(busy_id, slice_id) as slice_id, sum(claimed) as claimed
    from claim
    where not is_late
    group by all
    order by claimed desc, slice_id
    limit 500
),

own as materialized (
    select slice_id, sum(dur)::double as dur
    from (
        from _culprits($trace_id, 'late')
        union all
        select if(g.slice_id is null, o.slice_id, g.launch_id), o.claimed * (select sum(claimed) from claim where not is_late) / (select sum(claimed) from other)
        from other as o
        left join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = o.slice_id
    )
    group by slice_id
),

node (slice_id, parent_id, kind, name) as (
    select slice_id, parent_id, kind, name
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select slice_id from own where slice_id is not null)
    union
    select c.slice_id, c.parent_id, c.kind, c.name
    from node as n
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = n.parent_id
)

select slice_id, n.parent_id, n.kind, n.name, coalesce(_is_line(n.kind, n.name), false) as is_line, coalesce(o.dur, 0) as own_ns
from node as n
full join own as o using (slice_id)
where n.slice_id is not null or o.dur > 0
order by slice_id
