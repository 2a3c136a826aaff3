-- Matrix products and convolutions in 32 bits on a GPU whose tensor cores compute in 16. The part that can go is what is faster by
-- the peaks (at most a factor of four), but not below the time that moving operands of half the size takes.
-- title: Matrix products in 32 bits
-- finds: Matrix products and convolutions in fp32 or TF32 on a GPU with 16-bit tensor cores, where little or nothing is
--   computed in 16 bits.
-- matters: The peak in bf16 or fp16 is twice that of TF32 and 8 to 16 times that of fp32 without tensor cores. Only half as
--   many bytes are moved, too.
-- measured: Kernels of cuBLAS, CUTLASS and cuDNN by what their operators (dtype) or names say of their arithmetic, if less than
--   half of their time is in 16 bits or less (with more, mixed precision is on, and the rest is probably intended), on compute
--   capability 7.0 and later (device_model, or names like volta_sgemm where the GPU is not described). The claim is the time
--   saved according to the peaks, at most three quarters, and without what moving operands of half the size takes at 0.8 of the
--   bandwidth; nothing for kernels whose operands are not aligned (_align1, _align2), which are just as slow in 16 bits.
--   Shares: 0.25 low, 0.9 likely (casts and products that stay small), 1 high.
-- try: with torch.autocast("cuda", dtype=torch.bfloat16) around forward pass and loss; on Volta and Turing dtype=torch.float16
--   with torch.amp.GradScaler. On a V100, channels_last also lets cuDNN use its tensor core kernels.
-- references: https://docs.pytorch.org/docs/stable/amp.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html
--   https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html
-- fix: {{ remedy('half_products' if worst.has_bfloat else 'half_products_old') }} {% if worst.half_share > 0 %}{{
--   percent(worst.half_share) }} of their time is in 16 bits now {%- else %}None of their time is in 16 bits now {%- endif %};
--   the 32-bit kernels, such as {{ kernel_name(worst.name) }} in {% if worst.arithmetic == 'tf32' %}TF32{% else %}fp32 without
--   tensor cores{% endif %}, would take {{ of_step(claimed_ns) }} less at best.
-- confidence: {% if worst.half_share > 0 %}low{% else %}medium{% endif %}
-- reason: {% if worst.half_share > 0 %}Part of the work is already in 16 bits; the rest may be meant to be in 32. {%- else
--   %}The kernels' names show what they compute in; how much faster they would be is estimated from the peaks. {%- endif %}
-- wrong-if: The results are needed in 32 bits, or these products are too small to fill tensor cores.
-- heading: Compute matrix products in 16 bits
-- needs: gpu, steps
-- low: 0.25
-- likely: 0.9
-- high: 1.0
-- threshold: most = 0.5: where half is in 16 bits already mixed precision is on, and the rest likely meant to be in
--   32
-- uses: matrix_kernel
-- categories: compute
-- only-with: matrix_kernel: arithmetic in ('fp32', 'tf32') and not is_unaligned
with
product as (
    from matrix_kernel
),

told as (
    select
        coalesce(sum(ledger_dur) filter (arithmetic = 'half') / nullif(sum(ledger_dur) filter (arithmetic <> 'other'), 0), 0) as half_share,
        bool_or(is_old) as is_old,
        bool_or(has_tensor_cores) as has_tensor_cores
    from product
),

model as (
    select
        t.half_share,
        coalesce(try_cast(m.compute_capability as double) >= 8.0, not t.is_old) as has_bfloat,
        greatest(0.25, coalesce(m.fp32 / coalesce(m.bf16, m.fp16), 0.25)) as from_fp32,
        greatest(0.25, coalesce(m.tf32 / coalesce(m.bf16, m.fp16), 0.5)) as from_tf32
    from told as t
    left join device_model as m on m.trace_id = $trace_id and m.device = $device
    where
        coalesce(try_cast(m.compute_capability as double) >= 7.0 and not regexp_matches(m.name, 'GTX 16|\bT[46]00\b'), t.has_tensor_cores)
        and t.half_share < $most
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id,
    p.ledger_dur * greatest(0, 1 - greatest(if(p.arithmetic = 'tf32', m.from_tf32, m.from_fp32), coalesce(p.memory_share / 2, 0))) as claimed,
    'compute' as cause, p.slice_id as busy_id, p.operator, p.arithmetic, m.half_share, m.has_bfloat
from product as p
cross join model as m
where
    p.arithmetic in ('fp32', 'tf32')
    -- operands that are not aligned are as slow in 16 bits: another rule's
    and not p.is_unaligned
    and claimed > 0
