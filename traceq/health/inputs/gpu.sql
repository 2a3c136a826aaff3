-- What the trace holds of GPU work, and what is known of it. Nobody calls for the migrations of unified memory, and both of
-- their ends are managed memory: nothing is missing where they have no launch and no kinds of memory.
with
slice as (
    select
        g.device, g.kind, g.is_communication,
        g.launch_id is not null as is_launched,
        g.copy_kind is distinct from 'um' as is_called_for,
        g.kind = 'memcpy' and not g.is_communication as is_copy,
        g.kind = 'kernel' and g.grid_x is not null and g.block_x is not null and g.registers_per_thread is not null as has_shape,
        g.kind = 'kernel' and starts_with(g.name, '__amd_rocclr_copy') as is_kernel_copy,
        g.bytes is not null as has_bytes,
        (g.src_memory is not null and g.dst_memory is not null) or g.copy_kind is not distinct from 'um' as has_memory,
        g.kind <> 'graph' and (g.graph_id is not null or c.slice_id is not null) as is_graph_node,
        k.operator_id is not null as has_operator
    from gpu_slice as g
    left join (
        select slice_id
        from cpu_slice
        where trace_id = $trace_id and kind = 'runtime' and contains(name, 'GraphLaunch')
    ) as c on c.slice_id = g.launch_id
    left join graph_kernel as k on k.trace_id = g.trace_id and k.slice_id = g.slice_id
    where g.trace_id = $trace_id
)

select
    count(*) as gpu_slices,
    count(*) filter (is_called_for) as called_for,
    count(*) filter (is_called_for and is_launched) as launched,
    count(*) filter (kind = 'kernel') as kernels,
    count(*) filter (has_shape) as kernels_with_shape,
    count(*) filter (is_copy) as copies,
    count(*) filter (is_kernel_copy) as copies_as_kernels,
    count(*) filter (is_copy and has_bytes) as copies_with_bytes,
    count(*) filter (is_copy and has_memory) as copies_with_memory,
    count(*) filter (is_communication) as communication,
    count(*) filter (kind = 'graph') as whole_graphs,
    count(*) filter (is_graph_node) as graph_nodes,
    count(*) filter (has_operator) as graph_nodes_with_operator,
    count(distinct device) as devices
from slice
