-- Compute kernels of the counted steps by the operations and bytes of the operators that launched them. Where both are known a row for
-- each name of an operator's longest kernel and kind of the operator, most time first; the kernels of the other operators are one row
-- where only their bytes are known, and one where neither is. Rates are over the time of all kernels of an operator.
with
work as (
    select k.slice_id, k.exclusive_dur, g.name, g.launch_id
    from kernel_occupancy as k
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join step as s on s.trace_id = k.trace_id and s.step = k.step
    where k.trace_id = $trace_id and s.excluded is null and k.family <> 'communication'
),

of_graph as (
    select slice_id, operator_id
    from graph_kernel
    where trace_id = $trace_id and operator_id is not null
),

operator as (
    select slice_id, operator_id as outer_id from cpu_slice where trace_id = $trace_id and kind = 'op'
    union all
    select slice_id, operator_id from graph_operator where trace_id = $trace_id
),

-- The operator that launched a kernel has its cost, or one of the two around it.
launched as (
    select w.*, coalesce(g.operator_id, l.operator_id) as inner_id, i.outer_id, o.outer_id as outermost_id
    from work as w
    left join of_graph as g using (slice_id)
    left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = w.launch_id
    left join operator as i on i.slice_id = coalesce(g.operator_id, l.operator_id)
    left join operator as o on o.slice_id = i.outer_id
),

cost as (
    select slice_id, kind, flops, bytes, gpu_dur, peak, memory_bandwidth
    from operator_cost
    where trace_id = $trace_id and gpu_dur > 0
),

costed as (
    select l.name, l.exclusive_dur, coalesce(x.slice_id, y.slice_id, z.slice_id) as operator_id
    from launched as l
    left join cost as x on x.slice_id = l.inner_id
    left join cost as y on y.slice_id = l.outer_id
    left join cost as z on z.slice_id = l.outermost_id
),

owner as (
    select operator_id, arg_max(name, row(exclusive_dur, name)) as name, count(*) as kernels, sum(exclusive_dur) as dur
    from costed
    where operator_id is not null
    group by operator_id
),

told as (
    select
        if(c.flops is not null and c.bytes is not null, o.name, null) as name,
        if(c.flops is not null and c.bytes is not null, c.kind, null) as kind,
        c.bytes is not null as has_bytes,
        o.kernels, o.dur, c.flops, c.bytes, c.gpu_dur, c.peak, c.memory_bandwidth
    from owner as o
    inner join cost as c on c.slice_id = o.operator_id
    union all
    select null, null, false, 1, exclusive_dur, null, null, null, null, null
    from costed
    where operator_id is null
),

part as (
    select
        name, kind, has_bytes,
        sum(kernels)::bigint as kernels,
        sum(dur) as dur,
        sum(flops)::double as flops,
        sum(bytes)::double as bytes,
        sum(gpu_dur) as gpu_dur,
        if(count(peak) = count(*), sum(flops / peak), null) as dur_at_peak,
        max(memory_bandwidth)::double as memory_bandwidth
    from told
    group by name, kind, has_bytes
)

select
    name, kind, has_bytes, kernels,
    dur::bigint as dur_ns,
    round(dur / nullif(sum(dur) over (), 0), 9) as kernel_share,
    round(if(name is null, null, flops / gpu_dur / 1000), 6) as tflop_per_s,
    round(if(has_bytes, bytes / gpu_dur, null), 6) as gb_per_s,
    round(if(name is null, null, flops / nullif(dur_at_peak, 0)), 6) as peak_tflop_per_s,
    memory_bandwidth / 1e9 as memory_gb_per_s
from part
order by name is null, dur_ns desc, name, kind, has_bytes
