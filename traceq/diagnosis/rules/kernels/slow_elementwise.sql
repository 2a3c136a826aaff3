-- Elementwise and normalising operators below the bandwidth of the memory: what is above the time for reading and
-- writing once at $memory of it.
-- title: Elementwise kernels far below the memory bandwidth
-- finds: Elementwise and normalising operators that move data at well below the GPU's memory bandwidth.
-- matters: Only bandwidth should limit such a kernel, and good ones reach 0.8 of it. Slower ones read their operands out of
--   order (transposed or expanded views), convert types one element at a time, or read their input several times.
-- measured: Operators of kinds elementwise and norm (operator_cost) of at least 20 us. The claim is the time above that of
--   reading and writing once, for norms twice, at 0.8 of the peak bandwidth, so it is small if they nearly reach that. Shares:
--   0.1 low, 0.5 likely, 1 high.
-- try: Contiguous operands in one layout (.contiguous() once instead of repeated strided reads, channels_last from end to end),
--   no mixed types in one operation, torch.compile.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
-- fix: {{ remedy('contiguous' if worst.is_strided else 'read_once') }} {% if not program.is_compiled %}Or: {{ remedy('fuse')
--   }}{% endif %} {{ cut(worst.operator) }} of {{ cut(worst.sizes) }} moves {{ gb_per_s(worst.achieved_bandwidth) }} of {{
--   gb_per_s(worst.peak_bandwidth) }} ({{ percent(worst.achieved_bandwidth / worst.peak_bandwidth) }}). At
--   best that saves {{ of_step(claimed_ns) }}.
-- confidence: medium
-- reason: Bytes follow from the shapes, each operand counted once.
-- wrong-if: The operator has to read its input more than once: rows are too long for shared memory, or operands are scattered
--   in memory.
-- needs: gpu, steps, launches, operators, shapes, types
-- low: 0.1
-- likely: 0.5
-- high: 1.0
-- down-to: limit
-- threshold: shortest = 20000: shorter kernels are mostly start and end (about 5 us of either)
-- threshold: memory = 0.8: copies reach 0.8 to 0.9 of the peak bandwidth (STREAM, bandwidthTest)
-- uses: busy
-- categories: compute
-- heading: Speed up elementwise kernels: they are far below the memory bandwidth
with
cost as (
    select
        slice_id, kind, bytes, achieved_bandwidth,
        memory_bandwidth / 1e9 as peak_bandwidth,
        -- normalising reads its input more than once where a row does not fit into shared memory
        1 - if(kind = 'norm', 2, 1) * bytes / (memory_bandwidth / 1e9 * $memory) / gpu_dur as excess
    from operator_cost
    where
        trace_id = $trace_id
        and device = $device
        and kind in ('elementwise', 'norm')
        and gpu_dur >= $shortest
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * x.excess as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    coalesce(r.name, o.name) as operator,
    coalesce(r.args, o.args) ->> 'Input Dims' as sizes,
    x.bytes, x.achieved_bandwidth, x.peak_bandwidth, x.kind,
    regexp_matches(b.name, '(^|[^d])_elementwise_kernel|[: ]elementwise_kernel') as is_strided
from busy as b
inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
left join graph_kernel as g on g.trace_id = b.trace_id and g.slice_id = b.slice_id
inner join cost as x on x.slice_id = coalesce(g.operator_id, l.operator_id)
left join cpu_slice as o on o.trace_id = b.trace_id and o.slice_id = x.slice_id
left join graph_operator as r on r.trace_id = b.trace_id and r.slice_id = x.slice_id
where b.category = 'compute' and x.excess > 0
