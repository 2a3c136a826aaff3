-- Operators of the counted steps by kind; rates over the time of their kernels, of operations only where those of all are known.
select
    kind,
    count(*) as operators,
    sum(o.gpu_dur)::bigint as gpu_ns,
    if(count(flops) = count(*), sum(flops)::double / nullif(sum(o.gpu_dur), 0) / 1000, null) as tflop_per_s,
    if(count(flops) = count(*) and count(peak) = count(*), round(sum(flops / peak) / nullif(sum(o.gpu_dur), 0) / 1000, 9), null) as peak_share,
    sum(bytes)::double / nullif(sum(o.gpu_dur) filter (bytes is not null), 0) as gb_per_s,
    if(count(*) filter (bound = 'unknown') = 0, coalesce(sum(o.gpu_dur) filter (bound = 'memory'), 0) / nullif(sum(o.gpu_dur), 0), null)
        as memory_bound_share,
    max(memory_bandwidth)::double / 1e9 as memory_gb_per_s
from operator_cost as o
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null and o.gpu_dur is not null
group by kind
order by gpu_ns desc, kind
