-- Matrix products that memory limits and that take longer than moving their operands once: what is above the roofline.
-- title: Memory-bound matrix products
-- finds: Matrix products with too few operations per byte to be limited by arithmetic, which take much longer than
--   moving their operands once would.
-- matters: Skinny products (small batch, few rows, small heads) use neither the GPU's arithmetic nor, often, its
--   bandwidth. Larger or merged products do more in the same time.
-- measured: Operators with bound = 'memory' (operator_cost), at least 20 us per kernel (shorter ones are mostly start
--   and end), below 0.8 of the bandwidth and 0.7 of the peak. The claim is the time above the larger of the times for
--   bytes and operations at these shares. Shares: 0 low, 0.4 likely, 1 high: for many such shapes there is no better
--   kernel.
-- try: A larger batch; products that share an input merged into one (query, key and value; gate and up); operands
--   contiguous in the order in which the product reads them; half precision or quantised weights.
-- references: https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
--   https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
-- fix: {% if 'bmm' in (worst.operator or '') %}{% if not program.has('flash_attention') %}{{
--   remedy('fused_attention') }} That applies to attention; for other products, make the operands contiguous and
--   their sizes multiples of 8. {%- else %}Make its operands contiguous and their sizes multiples of 8. {%- endif %}
--   {%- else %}{{ remedy('merge_products') }} {%- endif %} {{ cut(worst.operator) }} of {{ cut(worst.sizes) }} ({{
--   worst.dtype }}) has {{ '%.0f' % worst.intensity }} operations per byte, where it takes {{ '%.0f' % worst.ridge }}
--   to be limited by arithmetic, and moves {{ gb_per_s(worst.achieved_bandwidth) }} of {{
--   gb_per_s(worst.peak_bandwidth) }}. At best that saves {{ of_step(claimed_ns) }}.
-- confidence: low
-- reason: Operations and bytes follow from the shapes; whether there is a better kernel for them is not known.
-- wrong-if: The shapes are fixed and the operands contiguous: then this is all the library reaches.
-- heading: Do more per byte in memory-bound matrix products
-- needs: gpu, steps, launches, operators, peaks
-- low: 0.0
-- likely: 0.4
-- high: 1.0
-- down-to: limit
-- threshold: shortest = 20000: shorter kernels are mostly start and end (about 5 us of either)
-- threshold: compute = 0.7: cuBLAS reaches about 0.6 to 0.8 of the peak with aligned operands of usual size
-- threshold: memory = 0.8: copies reach 0.8 to 0.9 of the peak bandwidth (STREAM, bandwidthTest)
-- uses: busy
-- categories: compute
with
cost as (
    select
        slice_id, dtype, intensity, ridge, achieved_bandwidth,
        memory_bandwidth / 1e9 as peak_bandwidth,
        1 - greatest(bytes / (memory_bandwidth / 1e9 * $memory), flops / (1000 * peak * $compute)) / gpu_dur as excess
    from operator_cost
    where
        trace_id = $trace_id
        and device = $device
        and kind = 'matmul'
        and bound = 'memory'
        and gpu_dur >= $shortest * kernels
        and achieved_bandwidth < $memory * memory_bandwidth / 1e9
        and achieved < $compute * peak
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * x.excess as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    coalesce(r.name, o.name) as operator,
    coalesce(r.args, o.args) ->> 'Input Dims' as sizes,
    x.dtype, x.intensity, x.ridge, x.achieved_bandwidth, x.peak_bandwidth
from busy as b
inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
left join graph_kernel as g on g.trace_id = b.trace_id and g.slice_id = b.slice_id
inner join cost as x on x.slice_id = coalesce(g.operator_id, l.operator_id)
left join cpu_slice as o on o.trace_id = b.trace_id and o.slice_id = x.slice_id
left join graph_operator as r on r.trace_id = b.trace_id and r.slice_id = x.slice_id
where b.category = 'compute' and x.excess > 0
