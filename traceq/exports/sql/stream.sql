-- What GPUs did, as Kineto would write it.
select
    _event(
        '{"ph":"X"',
        case g.kind when 'memcpy' then '"gpu_memcpy"' when 'memset' then '"gpu_memset"' else '"kernel"' end,
        _quoted(g.name, $most),
        t.pid,
        t.tid,
        g.ts - $origin,
        concat(',"dur":', _micro(g.dur), if(a.launch_id is null, '', concat(',"bind_id":', $flow + a.launch_id, ',"flow_in":true'))),
        concat_ws(
            ',',
            '"External id":' || g.external_id,
            '"device":' || g.device,
            '"context":' || g.context,
            '"stream":' || g.stream,
            '"correlation":' || g.correlation_id,
            '"registers per thread":' || g.registers_per_thread,
            '"shared memory":' || g.shared_memory,
            '"static shared memory":' || g.static_shared_memory,
            '"dynamic shared memory":' || g.dynamic_shared_memory,
            '"grid":[' || g.grid_x || ',' || g.grid_y || ',' || g.grid_z || ']',
            '"block":[' || g.block_x || ',' || g.block_y || ',' || g.block_z || ']',
            '"graph id":' || g.graph_id,
            '"graph node id":' || g.graph_node_id,
            '"bytes":' || g.bytes,
            '"fromDevice":' || g.src_device,
            '"toDevice":' || g.dst_device,
            _members(g.args, $most),
            -- where the source has it elsewhere than in the slice
            if(
                c.slice_id is null or contains(coalesce(g.args, ''), '"Collective name"'),
                null,
                concat_ws(
                    ',',
                    '"Collective name":' || _quoted(c.op, $most),
                    '"dtype":' || _quoted(c.dtype, $most),
                    '"In msg nelems":' || c.in_elements,
                    '"Out msg nelems":' || c.out_elements,
                    '"Group size":' || c.group_size,
                    '"Process Group Name":' || _quoted(c.group_name, $most),
                    '"Seq":' || c.sequence
                )
            )
        )
    ) as event,
    if(list_contains($kept::bigint[], g.slice_id), 0, 8) as level,
    g.dur
from gpu_slice as g
left join _lane as l on l.place = 'stream' and l.slice_id = g.slice_id
inner join _track as t
    on t.place = 'stream' and t.a = g.device and t.b = coalesce(l.role, g.stream, -1) and t.lane = coalesce(l.lane, 0)
left join _arrow as a on a.slice_id = g.slice_id
left join (
    select distinct on (slice_id) slice_id, op, dtype, in_elements, out_elements, group_size, group_name, sequence
    from collective
    where trace_id = $trace_id
    order by slice_id, op, sequence
) as c on c.slice_id = g.slice_id
where g.trace_id = $trace_id and ((g.ts <= $until and g.ts_end >= $since) or list_contains($kept::bigint[], g.slice_id))
order by g.device, g.stream, g.ts, g.dur desc, g.slice_id
