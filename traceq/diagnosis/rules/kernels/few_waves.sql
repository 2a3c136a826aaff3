-- Kernels that leave multiprocessors without work: fewer blocks than multiprocessors, or (of matrix kernels, whose blocks all take
-- as long) a last wave of blocks that fills a part of the GPU, after one or two full ones.
select
    b.step,
    b.ts,
    b.dur,
    b.name,
    b.slice_id,
    b.ledger_dur * (1 - if(k.sm_coverage < 1, k.sm_coverage, k.wave_efficiency)) as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    k.blocks,
    k.waves,
    k.sm_coverage as multiprocessors_share,
    k.family
from busy_piece as b
inner join kernel_occupancy as k using (trace_id, slice_id)
where
    b.trace_id = $trace_id
    and b.device = $device
    and b.category = 'compute'
    and b.dur >= $shortest
    and b.ledger_dur >= 0.99 * b.dur
    and (
        k.sm_coverage < $covered
        or (
            k.waves > 1
            and k.waves < 3
            and k.wave_efficiency < $efficient
            and k.family in ('cublas', 'cutlass', 'cudnn', 'nvjet')
        )
    )
