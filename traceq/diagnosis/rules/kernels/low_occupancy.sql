-- Kernels without matrix products in them of which few warps fit on a multiprocessor, for want of registers, shared memory or places for blocks.
-- The part that can go is what half of the possible warps would leave, if waiting for memory is all that it does.
-- title: Kernels with low occupancy
-- finds: Kernels, other than matrix products, whose registers, shared memory or number of blocks allow less than a quarter of
--   the possible warps on a multiprocessor.
-- matters: Warps that are ready hide the waiting of others for memory. With very few warps, the multiprocessor waits. Kernels
--   on tensor cores are designed to run with few warps and are left out.
-- measured: Kernels (kernel_occupancy) of at least 20 us with theoretical_occupancy below 0.25 and a known limiter other than
--   the grid; not of cuBLAS, CUTLASS, cuDNN, nvjet and fused attention. The claim is what half of the possible warps would save
--   if all of the time were waiting. Shares: 0 low, 0.3 likely, 0.8 high.
-- try: registers: __launch_bounds__, smaller tiles, fewer live variables, num_warps in Triton. shared_memory: smaller tiles,
--   fewer stages. blocks: more threads per block. Nsight Compute shows what the kernel waits for.
-- references: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
--   https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html
-- fix: {% if worst.limiter == 'registers' %}Use fewer registers: `__launch_bounds__(threads, blocks)` or smaller tiles. {%-
--   elif worst.limiter == 'shared_memory' %}Use less shared memory per block: smaller tiles or fewer stages. {%- else %}Use
--   blocks of 128 or 256 threads. {%- endif %} {{ kernel_name(worst.name) }} fills {{ percent(worst.occupancy_share) }} of a
--   multiprocessor's warps; {% if worst.limiter == 'registers' %}it takes {{ worst.registers_per_thread }} registers per thread
--   {%- elif worst.limiter == 'shared_memory' %}it takes {{ worst.shared_memory_bytes }} bytes of shared memory per block {%-
--   else %}its blocks have {{ worst.threads_per_block }} threads, and the number of blocks per multiprocessor is limited {%-
--   endif %}. {{ measured(worst.name) or remedy('what_kernel_waits_for', kernel=kernel_name(worst.name).split()[0]) }} At best that saves {{
--   of_step(claimed_ns) }}.
-- confidence: low
-- reason: Occupancy is computed from the launch geometry, not measured, and many good kernels have low occupancy.
-- wrong-if: A profile of the kernel shows that it keeps the arithmetic units or the memory busy.
-- heading: Make room for more warps: use fewer registers, less shared memory
-- needs: gpu, steps, occupancy
-- low: 0.0
-- likely: 0.3
-- high: 0.8
-- threshold: shortest = 20000: shorter kernels are mostly start and end (about 5 us of either)
-- threshold: low_share = 0.25: from a quarter of the warps on most kernels hide the latency of memory by other means
--   (Volkov, "Better Performance at Lower Occupancy")
-- uses: busy
-- categories: compute
-- only-with: kernel_class: longest_ns >= $shortest and occupancy < $low_share and limiter in ('registers', 'shared_memory', 'blocks')
select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * (1 - k.theoretical_occupancy / 0.5) * _below(k.theoretical_occupancy, $low_share) as claimed,
    'compute' as cause, b.slice_id as busy_id, k.limiter, k.theoretical_occupancy as occupancy_share,
    k.threads_per_block, g.registers_per_thread, g.shared_memory as shared_memory_bytes
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
