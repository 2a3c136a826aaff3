-- Kernels of launches of graphs, launch by launch, in the order in which they ran. Names and grids as in captured_kernel.sql.
select
    g.launch_id,
    l.ts as launch_ts,
    g.slice_id,
    (hash(g.name) >> 1)::bigint as name,
    if(
        g.grid_x is null,
        -1,
        (hash(concat_ws(',', g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z)) >> 1)::bigint
    ) as grid,
    g.stream,
    g.graph_node_id
from gpu_slice as g
inner join cpu_slice as l on l.slice_id = g.launch_id
where g.kind = 'kernel' and contains(l.name, 'GraphLaunch')
order by l.ts, l.slice_id, g.ts, g.slice_id
