-- What findings leave of the time in which the critical device works, by category, part (the family of a kernel, or its name where that
-- tells none) and what is known of it: near a limit of the GPU or a link, above what $at_limit of that limit takes, or unknown.
-- uses: busy, costed_kernel
with
owner as (
    select busy_id, sum(owned) as owned, bool_or(is_down_to_limit) as is_down_to_limit
    from owned_piece
    where busy_id is not null
    group by busy_id
),

-- The least time a kernel, a copy or a collective takes on this GPU, as a share of the time that it took.
limit_of as (
    select
        k.slice_id,
        if(coalesce(c.bound = 'memory', true), 'memory bandwidth', 'peak of the arithmetic') as limit_kind,
        greatest(
            coalesce(c.bytes / (c.memory_bandwidth / 1e9) / c.gpu_dur, 0),
            coalesce(c.flops / (1000 * c.peak) / c.gpu_dur, 0)
        ) as reached
    from costed_kernel as k
    inner join operator_cost as c on c.trace_id = $trace_id and c.slice_id = k.operator_id
    where
        c.gpu_dur > 0
        and (c.memory_bandwidth is not null or c.peak is not null)
        and (c.bytes is not null or c.flops is not null)
    union all
    select slice_id, 'link', bandwidth / link_bandwidth
    from copy_overlap
    where trace_id = $trace_id and device = $device and bandwidth is not null and link_bandwidth > 0
    union all
    select c.slice_id, 'link', c.bus_bandwidth / l.bandwidth
    from collective_slice as c
    inner join collective_link as l using (trace_id, device, group_name)
    where c.trace_id = $trace_id and c.device = $device and c.bus_bandwidth is not null and l.bandwidth > 0
),

piece as (
    select
        b.category,
        if(b.category = 'compute', coalesce(nullif(k.family, 'unknown'), b.name), null) as part,
        b.name,
        b.slice_id,
        greatest(b.ledger_dur - coalesce(o.owned, 0), 0) as rest,
        m.limit_kind,
        -- the least time does not change where what was above it is owned; fused, or in another type, work has another least time
        if(m.reached > 1, 1, m.reached) * if(coalesce(o.is_down_to_limit, false), b.ledger_dur, rest) as floor,
        -- short slices are mostly start and end
        b.dur >= $shortest as is_long
    from busy as b
    left join kernel_occupancy as k using (trace_id, slice_id)
    left join owner as o on o.busy_id = b.slice_id
    left join limit_of as m on m.slice_id = b.slice_id
),

known as (
    select
        * exclude (floor),
        if(floor > rest, rest, floor) as floor,
        case when floor >= $at_limit * rest then rest when is_long then floor / $at_limit end as near
    from piece
    where rest > 0
),

divided as (
    select category, part, name, slice_id, limit_kind, floor, 'near' as nearness, near as rest
    from known
    where near is not null
    union all
    select category, part, name, slice_id, limit_kind, floor, 'above', rest - near
    from known
    where near < rest
    union all
    select category, part, name, slice_id, limit_kind, floor, 'unknown', rest
    from known
    where near is null
)

select
    category, nearness, part, limit_kind,
    arg_max(name, rest) as example,
    count(distinct name) as names,
    count(*) as slices,
    sum(rest)::double as rest,
    sum(floor)::double as reached
from divided
where rest > 0
group by category, nearness, part, limit_kind
order by category, nearness, sum(rest) desc, part, limit_kind
