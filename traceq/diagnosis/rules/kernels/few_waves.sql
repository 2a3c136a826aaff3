-- Kernels that leave multiprocessors without work: fewer blocks than multiprocessors, or (of matrix kernels, whose blocks all take
-- as long) a last wave of blocks that fills a part of the GPU, after one or two full ones.
-- title: Kernels that do not fill the GPU
-- finds: Kernels with fewer blocks than the GPU has multiprocessors, and matrix kernels whose last wave of blocks fills only
--   part of the GPU.
-- matters: A multiprocessor without a block does nothing until the kernel ends. With slightly more than one wave of blocks, the
--   GPU takes the time of two and is nearly empty in the second.
-- measured: Kernels (kernel_occupancy) of at least 20 us that nothing overlaps, with sm_coverage below 0.9; and kernels of
--   cuBLAS, CUTLASS, cuDNN and nvjet, whose blocks all take the same time, with 1 to 3 waves and wave_efficiency below 0.8. The
--   claim is what is missing from 1, at most what is above the ceiling of an operator (operator_cost.ceiling_dur). Shares: 0 low, 0.3 likely (a memory-bound kernel needs few multiprocessors, and the
--   library chooses the grid), 1 high.
-- try: A larger batch or longer sequences per launch; work on several streams at once; split-k or stream-k kernels
--   (torch.compile(mode="max-autotune")); more blocks in your own kernels.
-- references: https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
-- fix: {{ remedy('split_products' if worst.family in ('cublas', 'cutlass', 'nvjet', 'hipblas') else 'more_blocks') }} {%- if
--   worst.threads_per_block and worst.threads_per_block < small_block %} Its blocks are already small ({{
--   plural(worst.threads_per_block, 'thread') }}): smaller ones do not help. {%- endif %} {{ kernel_name(worst.name) }} ({{
--   time(worst.dur) }}) has {{ plural(worst.blocks, 'block') }} {%- if worst.multiprocessors_share < 1 %} for {{
--   plural(worst.blocks / worst.multiprocessors_share, 'multiprocessor') }} {%- else %}, {{ '%.2f' % worst.waves }} times what
--   fits at once: the last wave fills only part of the GPU {%- endif %}. What all such kernels leave empty amounts to an idle
--   GPU for {{ per_step(claimed_ns) }}.
-- confidence: low
-- reason: The launch geometry shows how many multiprocessors have a block, but not whether that limits the kernel.
-- wrong-if: The kernels already reach the memory bandwidth with the blocks they have.
-- heading: Give each launch more to do: kernels do not fill the GPU
-- needs: gpu, steps, occupancy
-- low: 0.0
-- likely: 0.3
-- high: 1.0
-- threshold: shortest = 20000: shorter kernels are mostly start and end (about 5 us of either)
-- threshold: covered = 0.9: what 10 % more multiprocessors win is below what kernels of one size differ by
-- threshold: efficient = 0.8: a last wave of a fifth of the GPU and more is what libraries' heuristics trade for
--   larger tiles
-- threshold: small_block = 128: four warps: of smaller blocks a multiprocessor takes too few at a time to be filled
-- uses: busy, costed_kernel
-- categories: compute
select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * least(
        1 - if(k.sm_coverage < 1, k.sm_coverage, k.wave_efficiency), coalesce(1 - x.ceiling_dur / nullif(x.gpu_dur, 0), 1)
    ) as claimed,
    'compute' as cause, b.slice_id as busy_id, k.blocks, k.waves, k.sm_coverage as multiprocessors_share,
    k.family, k.threads_per_block
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
left join costed_kernel as o on o.slice_id = b.slice_id
left join operator_cost as x on x.trace_id = b.trace_id and x.slice_id = o.operator_id
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
    and claimed > 0
