-- Kernels whose blocks do not fill their last warp: the lanes of it that have no thread run along. Small grids are left out, for which
-- it makes no difference.
select
    b.step,
    b.ts,
    b.dur,
    b.name,
    b.slice_id,
    b.ledger_dur * (1 - k.threads_per_block / (ceil(k.threads_per_block / w.warp) * w.warp)) as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    k.threads_per_block,
    k.blocks
from busy_piece as b
inner join kernel_occupancy as k using (trace_id, slice_id)
left join device_model as m on m.trace_id = b.trace_id and m.device = b.device
cross join lateral (select coalesce(m.warp_size, 32) as warp) as w
where
    b.trace_id = $trace_id
    and b.device = $device
    and b.category = 'compute'
    and k.threads_per_block % w.warp <> 0
    and k.blocks >= coalesce(m.sm_count, $blocks)
