-- Matrix products (or convolutions) in fp32 without tensor cores, where none of the trace uses TF32 and the GPU has it. The part
-- that can go is what is faster by the peaks, but not below the time that moving the operands takes.
-- title: TF32 is off
-- finds: Matrix products, or convolutions, in fp32 without tensor cores on a GPU that can run them on tensor cores in TF32
--   (compute capability 8.0 and later), where none of them in the trace does.
-- matters: TF32 keeps the range of fp32 and 10 bits of mantissa, and its peak is eight times that of fp32 on an A100. It is off
--   for matrix products by default.
-- measured: Kernels of cuBLAS, CUTLASS and cuDNN whose names say fp32 and no tensor cores; products and convolutions
--   separately, because they have separate switches, and only if no kernel of the same sort uses TF32 (otherwise it is on, and
--   the rest has other reasons). Of each the share 1 - peak of fp32 / peak of TF32 is claimed, and not what moving its operands
--   takes at 0.8 of the bandwidth. Shares: 0.3 low (small products), 0.95 likely, 1 high.
-- try: torch.set_float32_matmul_precision("high"); torch.backends.cudnn.allow_tf32 = True. Check the loss: nearly all networks
--   train equally well with it.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
-- fix: {{ remedy('tf32') }} {{ kernel_name(worst.name) }} and others compute in fp32 without tensor cores; TF32 would save {{
--   time(claimed_ns) }} of each step at best.
-- confidence: high
-- reason: The kernels' names say fp32 without tensor cores, and no kernel of this sort uses TF32.
-- wrong-if: The program needs all 23 bits of the mantissa in these products (some scientific codes do).
-- heading: Switch TF32 on
-- unknown: {% if subject.compute_capability is none %}the GPU's compute capability is not known; a newer profiler records it
--   {%- endif %}
-- absent: {% if subject.compute_capability < 8 %}compute capability {{ subject.compute_capability }} has no TF32
--   {%- endif %}
-- low: 0.3
-- likely: 0.95
-- high: 1.0
-- uses: matrix_kernel
-- categories: compute
-- only-with: matrix_kernel: arithmetic = 'fp32'
with
judged as (
    select *, bool_or(arithmetic = 'tf32') over (partition by kind) as is_on
    from matrix_kernel
),

model as (
    -- of a GPU that is not known: cards for desktops and laptops may be no faster in TF32 than in fp32
    select coalesce(fp32 / tf32, if(compute_capability in ('8.0', '9.0', '10.0', '10.3'), 0.5, 1)) as slower
    from device_model
    where trace_id = $trace_id and device = $device and try_cast(compute_capability as double) >= 8.0
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id,
    p.ledger_dur * greatest(0, 1 - greatest(m.slower, coalesce(p.memory_share, 0))) as claimed,
    'compute' as cause, p.slice_id as busy_id, p.kind, p.operator
from judged as p
cross join model as m
where p.arithmetic = 'fp32' and not p.is_on and claimed > 0
