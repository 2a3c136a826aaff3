-- Compute kernels of the counted steps by name and launch geometry, most time first: the operator that launched most of them, the
-- time that libraries reach for its operator as a share of what that took, and how often a step runs them.
with
counted as (select count(*) as steps from step where trace_id = $trace_id and excluded is null),

hot as (
    select
        g.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z,
        any_value(k.family) as family,
        count(*) as kernels,
        count(distinct k.device) as devices,
        sum(k.exclusive_dur) as dur,
        sum(sum(k.exclusive_dur)) over () as whole
    from kernel_occupancy as k
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join step as s on s.trace_id = k.trace_id and s.step = k.step
    where k.trace_id = $trace_id and s.excluded is null and k.family <> 'communication'
    group by g.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z
    order by dur desc, g.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z
    limit $top
),

launch_of as (
    select
        h.name, h.grid_x, h.grid_y, h.grid_z, h.block_x, h.block_y, h.block_z,
        k.exclusive_dur,
        coalesce(i.name, o.name) as operator,
        coalesce(x.slice_id, y.slice_id, z.slice_id) as cost_id
    from hot as h
    inner join gpu_slice as g
        on
            g.trace_id = $trace_id and g.kind = 'kernel' and g.name = h.name
            and g.grid_x is not distinct from h.grid_x and g.grid_y is not distinct from h.grid_y
            and g.grid_z is not distinct from h.grid_z and g.block_x is not distinct from h.block_x
            and g.block_y is not distinct from h.block_y and g.block_z is not distinct from h.block_z
    inner join kernel_occupancy as k on k.trace_id = $trace_id and k.slice_id = g.slice_id
    inner join step as s on s.trace_id = $trace_id and s.step = k.step and s.excluded is null
    left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = g.launch_id
    left join graph_kernel as m on m.trace_id = $trace_id and m.slice_id = g.slice_id
    left join graph_operator as i on i.trace_id = $trace_id and i.slice_id = m.operator_id
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id and m.operator_id is null
    left join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = o.operator_id
    left join operator_cost as x on x.trace_id = $trace_id and x.slice_id = coalesce(i.slice_id, o.slice_id)
    left join operator_cost as y on y.trace_id = $trace_id and y.slice_id = coalesce(i.operator_id, o.operator_id)
    left join operator_cost as z on z.trace_id = $trace_id and z.slice_id = p.operator_id
),

named as (
    select
        l.name, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,
        mode(l.operator order by l.operator) as operator,
        sum(l.exclusive_dur * least(c.reachable_dur / c.gpu_dur, 1)) filter (c.gpu_dur > 0)
        / nullif(sum(l.exclusive_dur) filter (c.reachable_dur is not null and c.gpu_dur > 0), 0) as reachable_share
    from launch_of as l
    left join operator_cost as c on c.trace_id = $trace_id and c.slice_id = l.cost_id
    group by l.name, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z
)

select
    h.name, h.grid_x, h.grid_y, h.grid_z, h.block_x, h.block_y, h.block_z, h.family, h.kernels,
    h.kernels / c.steps / h.devices as kernels_per_step,
    h.dur::bigint as dur_ns,
    round(h.dur / nullif(h.whole, 0), 9) as kernel_share,
    h.dur / h.kernels as mean_ns,
    n.operator,
    round(n.reachable_share, 9) as reachable_share
from hot as h
cross join counted as c
left join named as n
    on
        n.name = h.name
        and n.grid_x is not distinct from h.grid_x and n.grid_y is not distinct from h.grid_y
        and n.grid_z is not distinct from h.grid_z and n.block_x is not distinct from h.block_x
        and n.block_y is not distinct from h.block_y and n.block_z is not distinct from h.block_z
order by h.dur desc, h.name, h.grid_x, h.grid_y, h.grid_z, h.block_x, h.block_y, h.block_z
