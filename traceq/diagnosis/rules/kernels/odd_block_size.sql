-- Kernels whose blocks do not fill their last warp: the lanes of it that have no thread run along. Small grids are left out, for which
-- it makes no difference.
-- title: Blocks that do not fill their warps
-- finds: Kernels whose number of threads per block is not a multiple of 32 (64 on AMD): the last warp of each block
--   has lanes without a thread.
-- matters: A warp executes all its lanes at once, used or not. With 33 threads nearly half of the arithmetic is for
--   nothing.
-- measured: threads_per_block (kernel_occupancy) against the warp size of the GPU (device_model), of kernels with at least as
--   many blocks as there are multiprocessors (without a description: 32). The claim is two thirds of the share of lanes without
--   a thread. For blocks smaller than a warp, it is the share of the multiprocessor's thread slots that stay empty
--   (theoretical_occupancy times the share of lanes in use): so few blocks fit at once that most of it is empty. Shares: 0 low
--   (memory-bound kernels do not get faster), 0.75 likely, 1 high.
-- try: A block of 128 or 256 threads, with a bounds check in the kernel.
-- references: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
-- fix: Launch {{ kernel_name(worst.name) }} with a whole number of warps per block: now a block has {{
--   plural(worst.threads_per_block, 'thread') }}. Use 128 or 256, with a bounds check in the kernel. At best that saves {{
--   of_step(claimed_ns) }}.
-- confidence: low
-- reason: The number of threads is in the trace; whether the empty lanes limit the kernel is not.
-- wrong-if: The kernel waits for memory: then idle lanes cost nothing.
-- heading: Launch whole warps
-- needs: gpu, steps, kernel_geometry
-- low: 0.0
-- likely: 0.75
-- high: 1.0
-- threshold: of_lanes = 0.67: arithmetic shares a kernel with loads and stores, which wait as long for fewer lanes
-- threshold: blocks = 32: of a GPU that is not described: the multiprocessors of the smaller GPUs for servers (T4:
--   40); fewer blocks do not fill it anyway
-- uses: busy
-- categories: compute
-- only-with: kernel_class: odd_threads and most_blocks >= coalesce(sm_count, $blocks)
select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * if(
        k.threads_per_block < w.warp,
        1 - coalesce(k.theoretical_occupancy, 1) * k.threads_per_block / w.warp,
        $of_lanes * (1 - k.threads_per_block / (ceil(k.threads_per_block / w.warp) * w.warp))
    ) as claimed,
    'compute' as cause, b.slice_id as busy_id, k.threads_per_block, k.blocks
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
left join device_model as m on m.trace_id = b.trace_id and m.device = b.device
cross join lateral (select coalesce(m.warp_size, 32) as warp) as w
where
    b.category = 'compute'
    and k.threads_per_block % w.warp <> 0
    and k.blocks >= coalesce(m.sm_count, $blocks)
