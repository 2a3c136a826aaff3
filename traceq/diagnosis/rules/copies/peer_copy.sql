-- Copies from one GPU to another with nothing beside them; those of collectives are communication.
select
    c.step,
    g.ts,
    c.dur,
    g.name,
    c.slice_id,
    c.exposed as claimed,
    c.category as cause,
    c.slice_id as busy_id,
    c.direction,
    c.bytes,
    c.bandwidth,
    c.best_bandwidth,
    m.host_link_bandwidth as host_link_rate,
    m.peer_link_bandwidth as peer_link_rate,
    g.src_device,
    g.dst_device
from copy_overlap as c
inner join gpu_slice as g using (trace_id, slice_id)
inner join step as s on s.trace_id = c.trace_id and s.step = c.step
left join device_model as m on m.trace_id = c.trace_id and m.device = c.device
where
    c.trace_id = $trace_id
    and c.device = $device
    and s.excluded is null
    and c.copy_kind = 'p2p'
    and c.exposed > 0
