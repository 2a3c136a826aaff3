-- Products on tensor cores by kernels for operands that are not aligned to 16 bytes, as their names show: sizes that are not a multiple of 8
-- (4 for TF32). The part that can go is what is above the roofline of an aligned one, at most three quarters; where that is
-- not known, by how badly aligned it is.
-- title: Matrix sizes that are not aligned for tensor cores
-- finds: Matrix products on tensor cores whose operands are not aligned to 16 bytes: a size, or the stride of a view,
--   is not a multiple of 8 elements in 16 bits (4 in TF32).
-- matters: Tensor cores are fed by loads of 16 bytes at a time. Without alignment, a fallback kernel, often written for an
--   older GPU, loads fewer elements at a time: a vocabulary of 50,257 instead of 50,304 can halve the speed of its product.
-- measured: Kernels of tensor cores with _align1, _align2 or (in 16 bits) _align4 in their name, which says how many elements
--   they load at once. The claim is the time above the roofline of an aligned kernel (0.6 of the peak, 0.8 of the bandwidth),
--   at most three quarters, and above the ceiling of its shape (operator_cost.ceiling_dur); if operations are not known, 0.5, 0.35 and 0.15 of the time. nvjet and xmma kernels do not name
--   their alignment. Shares: 0.2 low, 0.7 likely, 1 high.
-- try: Pad vocabulary, hidden sizes, numbers of classes and sequence lengths to a multiple of 8 (64 is better on A100 and
--   later), and copy misaligned views to contiguous tensors.
-- references: https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- fix: Make sizes a multiple of {{ worst.multiple }}. {% if worst.operator %}{{ cut(worst.operator) }}{% if worst.sizes %} of
--   {{ cut(worst.sizes) }}{% endif %} {%- else %}a product {%- endif %} runs {{ kernel_name(worst.name) }}, which loads {{
--   worst.alignment }} element {{- 's' if worst.alignment > 1 }} at a time. {{ padding(worst) }} (weights and tables when they
--   are created, sequences when they are batched). At best that saves {{ of_step(claimed_ns) }}.
-- confidence: medium
-- reason: The kernels' names show that their operands are not aligned; how long aligned ones take is estimated.
-- wrong-if: Something else limits the product: it takes just as long with padded sizes.
-- heading: Pad sizes for tensor cores
-- needs: gpu, steps
-- low: 0.2
-- likely: 0.7
-- high: 1.0
-- threshold: compute = 0.6: cuBLAS reaches about 0.6 to 0.8 of the peak with aligned operands of usual size
-- threshold: memory = 0.8: copies reach 0.8 to 0.9 of the peak bandwidth (STREAM, bandwidthTest)
-- uses: busy, kernel_name
-- categories: compute
-- only-with: kernel_name: regexp_matches(name, '(?i)(tensorop|s16816|s1688).*_align[124]\b')
with
product as (
    select
        b.*,
        try_cast(regexp_extract(b.name, '_align(\d+)', 1) as integer) as alignment,
        regexp_matches(b.name, '(?i)fp?16|half') as is_half
    from busy as b
    where
        b.category = 'compute'
        and b.name in (select name from kernel_name where regexp_matches(name, '(?i)(tensorop|s16816|s1688).*_align[124]\b'))
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id,
    p.ledger_dur * least(0.75, greatest(0, coalesce(
        1 - greatest(x.flops / (1000 * x.peak * $compute), x.bytes / (x.memory_bandwidth / 1e9 * $memory)) / nullif(x.gpu_dur, 0),
        case p.alignment when 1 then 0.5 when 2 then 0.35 else 0.15 end
    )), coalesce(1 - x.ceiling_dur / nullif(x.gpu_dur, 0), 1)) as claimed,
    'compute' as cause,
    p.slice_id as busy_id,
    coalesce(r.name, o.name) as operator,
    coalesce(r.args, o.args) ->> 'Input Dims' as sizes,
    p.alignment,
    if(p.is_half, 8, 4) as multiple
from product as p
left join cpu_slice as l on l.trace_id = p.trace_id and l.slice_id = p.launch_id
left join cpu_slice as o on o.trace_id = p.trace_id and o.slice_id = l.operator_id
left join graph_kernel as g on g.trace_id = p.trace_id and g.slice_id = p.slice_id
left join graph_operator as r on r.trace_id = p.trace_id and r.slice_id = g.operator_id
left join operator_cost as x on x.trace_id = p.trace_id and x.slice_id = coalesce(r.slice_id, o.slice_id)
where p.alignment < if(p.is_half, 8, 4) and claimed > 0
