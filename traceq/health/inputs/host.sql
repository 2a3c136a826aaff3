-- What the trace holds of the host.
with
-- Names recur: what they mean is looked up once for each.
named as (
    select
        kind,
        name,
        count(*) as slices
    from cpu_slice
    where trace_id = $trace_id
    group by kind, name
),

shape as (
    select count(*) as operators
    from cpu_slice
    -- PyTorch of 2020 wrote an empty list where it recorded no shapes
    where trace_id = $trace_id and kind = 'op' and contains(args, '"Input ') and regexp_matches(args, '"Input [Dd]ims": ?\[\s*\[')
)

select
    coalesce(sum(c.slices), 0)::bigint as host_slices,
    coalesce(sum(c.slices) filter (c.kind = 'runtime'), 0)::bigint as calls,
    coalesce(sum(c.slices) filter (c.kind = 'runtime' and contains(c.name, 'GraphLaunch')), 0)::bigint as graph_launches,
    coalesce(sum(c.slices) filter (c.kind = 'op'), 0)::bigint as operators,
    (select operators from shape) as operators_with_shapes,
    coalesce(sum(c.slices) filter (c.kind = 'annotation'), 0)::bigint as annotations,
    coalesce(sum(c.slices) filter (c.kind = 'python'), 0)::bigint as python_calls,
    coalesce(sum(c.slices) filter (c.kind = 'os'), 0)::bigint as os_calls,
    coalesce(sum(c.slices) filter (n.activity = 'synchronization'), 0)::bigint as waiting_calls,
    coalesce(sum(c.slices) filter (c.kind = 'runtime' and contains(c.name, 'StreamWaitEvent')), 0)::bigint as stream_wait_calls,
    coalesce(sum(c.slices) filter (n.phase is not null), 0)::bigint as phases
from named as c
left join host_name as n on n.trace_id = $trace_id and n.kind = c.kind and n.name = c.name
