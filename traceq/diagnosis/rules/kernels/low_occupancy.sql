-- Kernels without matrix products in them of which few warps fit on a multiprocessor, for want of registers, shared memory or places for blocks.
-- The part that can go is what half of the possible warps would leave, if waiting for memory is all that it does.
-- confidence: low
-- reason: Occupancy is computed from the launch geometry, not measured, and many good kernels have little of it.
-- wrong-if: Nsight Compute shows that the kernel keeps its arithmetic or its memory busy.
-- needs: gpu, steps, occupancy
-- low: 0.0
-- likely: 0.3
-- high: 0.8
-- settings: shortest=20000, low_share=0.25
-- uses: busy
-- categories: compute
select
    b.step,
    b.ts,
    b.dur,
    b.name,
    b.slice_id,
    b.ledger_dur * (1 - k.theoretical_occupancy / 0.5) as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    k.limiter,
    k.theoretical_occupancy as occupancy_share,
    k.threads_per_block,
    g.registers_per_thread,
    g.shared_memory as shared_memory_bytes
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
inner join gpu_slice as g using (trace_id, slice_id)
where
    b.category = 'compute'
    and b.dur >= $shortest
    and k.theoretical_occupancy < $low_share
    and k.limiter in ('registers', 'shared_memory', 'blocks')
    and k.tensor_core is not true
    and k.family not in ('cublas', 'cutlass', 'cudnn', 'nvjet', 'flash_attention', 'hipblas', 'composable_kernel', 'deep_gemm', 'marlin')
    and not (k.family = 'triton' and k.tensor_core is null)
