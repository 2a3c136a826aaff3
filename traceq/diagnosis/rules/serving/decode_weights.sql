-- Matrix products of decode steps with few rows, whose shapes are not known (CUDA graphs): reading the weights is what they do, and
-- weights of 8 bits are half of the bytes.
-- title: Decoding reads 16-bit weights
-- finds: Decode steps of a server with so few tokens that reading the 16-bit weights limits their matrix products.
-- matters: A product with M rows does M operations per byte of its 16-bit weights. GPUs do a few hundred operations in the time
--   that it takes to read a byte: with fewer rows, reading the weights takes all the time, and 8-bit weights, or more tokens
--   per step, help.
-- measured: Steps of kind decode with at most 64 new tokens (serving_step) whose bytes do not follow from shapes (those are
--   decode-bandwidth's): time of the ledger in kernels of matrix products and of experts, by their family, on tensor cores.
--   Half of it is claimed. Shares: 0 low, 0.4 likely (8-bit kernels do not get as close to the bandwidth, and not all weights
--   can be in 8 bits), 1 high. Nothing if a kernel already computes with fewer than 16 bits. The results change, so accuracy
--   has to be checked.
-- try: Weights in fp8 (or 4 bits), tuned matrix kernels for a few rows, more requests per step.
-- references: https://kipp.ly/transformer-inference-arithmetic/
--   https://docs.vllm.ai/en/stable/features/quantization/
-- fix: {{ remedy('quantize_weights') }} Compare results on your own data before and after. A step of {{ '%.0f' % worst.tokens
--   }} tokens spends {{ of_step(2 * claimed_ns) }} in matrix products, most of it in {{ kernel_name(worst.name) }}.
-- confidence: low
-- reason: The number of tokens shows that reading limits the products; the bytes of the weights are not in the trace.
-- wrong-if: The weights already have 8 bits or fewer, or the kernels are far below the bandwidth for another reason.
-- heading: Shrink the weights: decoding a few tokens has to read all of them
-- needs: gpu, steps
-- absent: {% if ask('quantized') %}{{ cut(ask('quantized')[0].name) }} already computes with fewer than 16 bits{% endif %}
-- low: 0.0
-- likely: 0.4
-- high: 1.0
-- threshold: most_tokens = 64: a quarter of the operations that GPUs for servers do in the time of reading a byte (A100 200, MI300X 250,
--   H100 and B200 300)
-- uses: busy, kernel_name
-- categories: compute
-- only-with: serving_mark: trace_id = $trace_id
with
expert as materialized (
    select name
    from kernel_name
    where regexp_matches(name, '(?i)(^|[^a-z])moe|fused_?moe|expert|matmul_ogs|grouped_?(gemm|mm)|group_gemm|bmm_')
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur / 2 as claimed,
    'compute' as cause, b.slice_id as busy_id, s.new_tokens as tokens, k.family
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
inner join serving_step as s on s.trace_id = b.trace_id and s.step = b.step
left join serving_roofline as r on r.trace_id = b.trace_id and r.step = b.step
where
    b.category = 'compute'
    and s.kind = 'decode'
    and s.new_tokens <= $most_tokens
    and r.least_dur is null
    and k.tensor_core is distinct from false
    and k.family not in ('flash_attention', 'routing')
    and (
        k.family in ('cublas', 'nvjet', 'cutlass', 'hipblas', 'composable_kernel', 'deep_gemm')
        or b.name in (from expert)
    )
