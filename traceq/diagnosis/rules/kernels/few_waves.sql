-- Kernels that leave multiprocessors without work: fewer blocks than multiprocessors, or (of matrix kernels, whose blocks all take
-- as long) a last wave of blocks that fills a part of the GPU, after one or two full ones.
-- confidence: low
-- reason: How many multiprocessors have a block follows from the geometry; whether that limits the kernel does not.
-- wrong-if: The kernels reach the bandwidth of memory with the blocks they have.
-- needs: gpu, steps, occupancy
-- low: 0.0
-- likely: 0.3
-- high: 1.0
-- settings: shortest=20000, covered=0.9, efficient=0.8
-- uses: busy
-- categories: compute
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
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
where
    b.category = 'compute'
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
