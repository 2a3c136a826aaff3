-- The collectives of a trace: how often and how long each ran with equal sizes in a group of as many ranks. Waiting for
-- other ranks is in their durations: the shortest one has least of it.
select
    (select parse_filename(path) from trace where trace_id = $trace_id) as trace,
    c.op as name,
    c.dtype,
    c.in_elements,
    c.out_elements,
    c.group_size,
    c.reduction,
    any_value(c.bytes) as bytes,
    count(*) as calls,
    sum(coalesce(g.dur, h.dur))::bigint as total_dur,
    median(coalesce(g.dur, h.dur))::bigint as median_dur,
    min(coalesce(g.dur, h.dur))::bigint as least_dur,
    arg_min(s.step, coalesce(g.ts, h.ts)) as step,
    mode(d.name) as device,
    count(g.slice_id) > 0 as on_gpu,
    bool_or(c.slice_id in (select unnest($slices::bigint[]))) as is_wanted
from collective as c
left join gpu_slice as g on g.trace_id = c.trace_id and g.slice_id = c.slice_id
left join cpu_slice as h on h.trace_id = c.trace_id and h.slice_id = c.slice_id
left join device as d on d.trace_id = g.trace_id and d.device = g.device
asof left join (from step where trace_id = $trace_id) as s on coalesce(g.ts, h.ts) >= s.ts
where c.trace_id = $trace_id
group by c.op, c.dtype, c.in_elements, c.out_elements, c.group_size, c.reduction
having total_dur > 0
order by total_dur desc, c.op, c.dtype, c.in_elements, c.out_elements, c.group_size, c.reduction
