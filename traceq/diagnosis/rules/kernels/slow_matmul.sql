-- Matrix products, convolutions and attention that arithmetic limits, below the peak of their type: what is above $reachable of it,
-- and above what as much work takes in a shape that fills tiles and waves (operator_cost.filled_dur).
-- title: Matrix products far below the peak
-- finds: Compute-bound matrix products, convolutions and attention that reach less than 0.7 of the peak of their data type.
-- matters: These operations can come close to the peak: libraries reach 0.7 of it and more on large, well-shaped products.
-- measured: Operators with bound = 'compute' (operator_cost), at least 20 us per kernel. The claim is the time above
--   filled_dur: at 0.7 of the peak in full tiles and waves, so it is small if they nearly reach that. How much of it their
--   own shape allows (down to reachable_dur) is said beside it. Shares: 0.1 low, 0.5 likely, 1 high.
-- try: Sizes that fill tiles and waves (multiples of 128 or 256), layouts (channels_last for convolutions),
--   torch.backends.cudnn.benchmark, torch.compile(mode="max-autotune"), a newer cuBLAS or cuDNN, fp8 with Transformer
--   Engine where the type allows it.
-- references: https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
--   https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html
-- facts: slow_matmul_facts
-- fix: {{ remedy({'convolution': 'better_convolutions', 'attention': 'faster_attention'}.get(facts.kind, 'better_products')) }}
--   {{ cut(facts.operator) }} of {{ cut(facts.sizes) }} reaches {{ '%.0f' % facts.achieved }} of {{ '%.0f' % facts.peak }}
--   TFLOP/s in {{ facts.compute_type }} ({{ percent(facts.achieved / facts.peak) }}). At {{ percent(reachable) }} of the peak,
--   all of them together would take {{ of_step(claimed_ns) }} less{% if rows | length > 1 %}, of which {{ percent(facts.share)
--   }} is {{ {'convolution': 'convolutions', 'attention': 'attention'}.get(facts.kind, 'matrix products') }}{% endif %}. {%- if
--   facts.in_shape < 0.9 * claimed_ns %} Of that, other kernels can win {{ of_step(facts.in_shape) }} in these shapes; the rest
--   needs larger or joined batches, or sizes padded to the tiles, which fill the last wave. {%- endif %}
-- confidence: medium
-- reason: Operations follow from the shapes and the peak from the GPU; what these shapes can reach is estimated.
-- wrong-if: The same shapes are just as slow in a separate benchmark that tries every algorithm.
-- heading: Speed up {{ {'convolution': 'convolutions', 'attention': 'attention'}.get(facts.kind, 'matrix products') }}: {{
--   percent(facts.achieved / facts.peak) }} of the peak is reached
-- needs: gpu, steps, launches, operators, peaks
-- low: 0.1
-- likely: 0.5
-- high: 1.0
-- down-to: limit
-- threshold: shortest = 20000: shorter kernels are mostly start and end (about 5 us of either)
-- threshold: reachable = 0.7: what cuBLAS reaches at usual sizes and sustained clocks
-- uses: busy, costed_kernel
-- categories: compute
with
cost as (
    select
        slice_id, kind, compute_type, achieved, peak,
        1 - greatest(flops / (1000 * peak * $reachable), coalesce(filled_dur, 0)) / gpu_dur as excess
    from operator_cost
    where
        trace_id = $trace_id
        and device = $device
        and kind in ('matmul', 'convolution', 'attention')
        and bound = 'compute'
        and gpu_dur >= $shortest * kernels
        and achieved < $reachable * peak
        and excess > 0
),

owned as (
    select b.*, k.operator_id as cost_id
    from busy as b
    inner join costed_kernel as k on k.slice_id = b.slice_id
    where k.operator_id in (select slice_id from cost)
)

select
    w.step, w.ts, w.dur, w.name, w.slice_id,
    w.ledger_dur * x.excess as claimed,
    'compute' as cause,
    w.slice_id as busy_id,
    coalesce(r.name, o.name) as operator,
    coalesce(r.args, o.args) ->> 'Input Dims' as sizes,
    x.kind, x.compute_type, x.achieved, x.peak
from owned as w
inner join cost as x on x.slice_id = w.cost_id
left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = w.cost_id
left join graph_operator as r on r.trace_id = $trace_id and r.slice_id = w.cost_id
