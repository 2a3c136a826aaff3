-- Elementwise and normalising operators on large tensors far below the bandwidth of the memory: what is above the time for reading and
-- writing once at $memory of it.
with
cost as (
    select
        slice_id,
        kind,
        bytes,
        achieved_bandwidth,
        memory_bandwidth / 1e9 as peak_bandwidth,
        1 - bytes / (memory_bandwidth / 1e9 * $memory) / gpu_dur as excess
    from operator_cost
    where
        trace_id = $trace_id
        and device = $device
        and kind in ('elementwise', 'norm')
        and gpu_dur >= $shortest
        and bytes >= $large
        -- normalising reads its input more than once where a row does not fit into shared memory
        and achieved_bandwidth < if(kind = 'norm', $slow / 2, $slow) * memory_bandwidth / 1e9
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
    x.bytes,
    x.achieved_bandwidth,
    x.peak_bandwidth,
    x.kind,
    regexp_matches(b.name, '(^|[^d])_elementwise_kernel|[: ]elementwise_kernel') as is_strided
from busy_piece as b
inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
inner join cost as x on x.slice_id = l.operator_id
inner join cpu_slice as o on o.trace_id = b.trace_id and o.slice_id = x.slice_id
where b.trace_id = $trace_id and b.device = $device and b.category = 'compute'
