-- What the trace holds of the host. torch.autograd.profiler.emit_nvtx makes operators ranges.
select
    count(*) as host_slices,
    count(*) filter (c.kind = 'runtime') as calls,
    count(*) filter (c.kind = 'runtime' and contains(c.name, 'GraphLaunch')) as graph_launches,
    count(*) filter (c.kind = 'op' or (c.kind = 'annotation' and contains(c.name, ', op_id = '))) as operators,
    -- PyTorch of 2020 wrote an empty list where it recorded no shapes
    count(*) filter (c.kind = 'op' and regexp_matches(c.args, '"Input [Dd]ims": ?\[\s*\[')) as operators_with_shapes,
    count(*) filter (c.kind = 'annotation' and not contains(c.name, ', op_id = ')) as annotations,
    count(*) filter (c.kind = 'python') as python_calls,
    count(*) filter (c.kind = 'os') as os_calls,
    count(*) filter (n.activity = 'synchronization') as waiting_calls,
    count(*) filter (c.kind = 'runtime' and contains(c.name, 'StreamWaitEvent')) as stream_wait_calls,
    count(*) filter (n.phase is not null) as phases
from cpu_slice as c
left join host_name as n on n.trace_id = c.trace_id and n.kind = c.kind and n.name = c.name
where c.trace_id = $trace_id
