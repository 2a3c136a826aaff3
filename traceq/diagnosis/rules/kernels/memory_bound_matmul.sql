-- Matrix products that memory limits and that take longer than moving their operands once: what is above the roofline.
-- confidence: low
-- reason: Operations and bytes follow from the shapes; whether a better kernel for them exists is not known.
-- wrong-if: Shapes are fixed and their operands contiguous: then this is what the library reaches.
-- needs: gpu, steps, launches, operators, peaks
-- low: 0.0
-- likely: 0.4
-- high: 1.0
-- settings: shortest=20000, compute=0.7, memory=0.8
-- uses: busy
-- categories: compute
with
cost as (
    select
        slice_id,
        dtype,
        intensity,
        ridge,
        achieved_bandwidth,
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
    b.step,
    b.ts,
    b.dur,
    b.name,
    b.slice_id,
    b.ledger_dur * x.excess as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    o.name as operator,
    o.args ->> 'Input Dims' as sizes,
    x.dtype,
    x.intensity,
    x.ridge,
    x.achieved_bandwidth,
    x.peak_bandwidth
from busy as b
inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
inner join cost as x on x.slice_id = l.operator_id
inner join cpu_slice as o on o.trace_id = b.trace_id and o.slice_id = x.slice_id
where b.category = 'compute' and x.excess > 0
