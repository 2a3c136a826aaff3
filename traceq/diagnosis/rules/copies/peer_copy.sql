-- Copies from one GPU to another with nothing beside them; those of collectives are communication.
-- confidence: medium
-- reason: Kind and time of the copies are facts; whether something could run beside them is not known.
-- wrong-if: Every kernel that is left needs what is being copied.
-- needs: gpu, steps
-- about: copies
-- low: 0.2
-- likely: 0.6
-- high: 1.0
-- uses: counted_copy
select
    c.step,
    c.ts,
    c.dur,
    c.name,
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
    c.src_device,
    c.dst_device
from counted_copy as c
left join device_model as m on m.trace_id = c.trace_id and m.device = c.device
where
    c.copy_kind = 'p2p'
    and c.exposed > 0
