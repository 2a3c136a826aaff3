-- Fused attention whose kernel was written for Ampere, on Hopper or Blackwell. What can go is what the kernel for the GPU is faster,
-- but never below $reachable of the peak where operations are known.
-- title: Attention runs a kernel made for an older GPU
-- finds: Kernels of FlashAttention 2, of memory-efficient attention, or of cuDNN for Ampere, on a Hopper or Blackwell GPU
--   (compute capability 9.0, 10.x).
-- matters: They do not use the newer instructions of these GPUs (wgmma and TMA; tcgen05), and reach about a third of the peak,
--   while FlashAttention 3 and cuDNN reach two thirds.
-- measured: Kernels of at least 0.2 ms (as long as those measured in the FlashAttention 3 paper; shorter ones have other
--   limits), by name; not those that split keys for decoding, which are memory-bound. If the trace does not describe the GPU,
--   the names of other kernels do: sm90, sm100, nvjet. The paper gives 1.5 to 2 times the speed forward and 1.5 to 1.75
--   backward: the claim is what the largest speed-up would save, but nothing beyond 0.75 of the peak, the most that has been
--   reached. Shares: 0.5 low, 0.75 likely (1.6 times the speed forward), 1 high.
-- try: FlashAttention 3 (Hopper), cuDNN's attention (Hopper, Blackwell), FlashAttention 4 (Blackwell).
-- references: https://arxiv.org/abs/2407.08608
--   https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html
-- fix: {{ remedy('newest_attention_of_blackwell' if worst.is_blackwell and not worst.is_pytorch else 'newest_attention_own' if
--   worst.is_pytorch else 'newest_attention') }} {{ kernel_name(worst.name) }} is made for Ampere, and takes {{
--   per_step(worst.all_ns / steps) }} on this {{ 'Blackwell' if worst.is_blackwell else 'Hopper' }} GPU; one made for it is 1.5
--   to 2 times as fast.
-- confidence: medium
-- reason: The kernel's name and the GPU are certain; how much faster another kernel would be depends on head sizes and sequence
--   lengths.
-- wrong-if: The newer kernels do not support this head size or kind of mask.
-- heading: Use an attention kernel made for this GPU
-- for: model
-- needs: gpu, steps
-- unknown: {% set seen = ask('older_attention_kernel_gpu', shortest=shortest) %}{% if seen[0].kernels and
--   not subject.compute_capability and not seen[0].capability %}the trace does not say which GPU ran the attention{% endif %}
-- low: 0.5
-- likely: 0.75
-- high: 1.0
-- threshold: shortest = 200000: a kernel of a few waves is limited by its start and end, in which generations differ
--   little
-- threshold: reachable = 0.75: FlashAttention 3 reaches 0.75 of the peak of an H100 (Shah and others 2024)
-- uses: busy, kernel_name, gpu_generation
-- categories: compute
-- only-with: kernel_name: regexp_matches(name, '(^|[^a-z_])flash_(fwd|bwd_dq_dk_dv_loop(_seqk_parallel)?)_kernel|fmha_cutlass[FB]_b?f16_\w*sm80|cudnn\w*sdpa_sm80')
with
attention as (
    select b.*, regexp_matches(b.name, 'bwd|fmha_cutlassB|bprop') as is_backward, g.capability
    from busy as b
    cross join gpu_generation as g
    where
        b.category = 'compute'
        and b.dur >= $shortest
        and regexp_matches(g.capability, '^(9|10)\.')
        and b.name in (
            select name from kernel_name
            where regexp_matches(
                name,
                '(^|[^a-z_])flash_(fwd|bwd_dq_dk_dv_loop(_seqk_parallel)?)_kernel|fmha_cutlass[FB]_b?f16_\w*sm80|cudnn\w*sdpa_sm80'
            )
        )
)

select
    a.step, a.ts, a.dur, a.name, a.slice_id,
    a.ledger_dur
    * (
        1 - greatest(
            if(a.is_backward, 1 / 1.75, 0.5),
            least(1, coalesce(x.flops / (1000 * x.peak * $reachable) / nullif(x.gpu_dur, 0), 0))
        )
    ) as claimed,
    'compute' as cause,
    a.slice_id as busy_id,
    coalesce(r.operator, o.name) as operator,
    starts_with(a.capability, '10') as is_blackwell,
    coalesce(starts_with(coalesce(r.operator, o.name), 'aten::') or regexp_matches(a.name, 'pytorch_flash|PyTorchMemEff'), false) as is_pytorch,
    sum(a.ledger_dur) over () as all_ns
from attention as a
left join cpu_slice as l on l.trace_id = a.trace_id and l.slice_id = a.launch_id
left join cpu_slice as o on o.trace_id = a.trace_id and o.slice_id = l.operator_id
left join graph_kernel as r on r.trace_id = a.trace_id and r.slice_id = a.slice_id
left join operator_cost as x on x.trace_id = a.trace_id and x.slice_id = coalesce(r.operator_id, o.slice_id) and x.kind = 'attention'
