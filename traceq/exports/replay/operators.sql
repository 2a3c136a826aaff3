-- The operators of a trace by what was recorded of their inputs: how often, how long, and what they could take. A row per name and
-- inputs. Times are those of their kernels; in a trace without kernels those of the host. Of an operator that only picks a library for
-- another (cudnn_convolution within convolution) the other one is meant, which runs on every device.
with recursive
operator as (
    select slice_id, operator_id, name, args, ts, dur from cpu_slice where trace_id = $trace_id and kind = 'op'
    union all
    select slice_id, operator_id, name, args, ts, null from graph_operator where trace_id = $trace_id
),

launched as (
    select g.slice_id, coalesce(k.operator_id, l.operator_id) as operator_id, g.name, g.dur, g.device
    from gpu_slice as g
    left join cpu_slice as l on l.trace_id = g.trace_id and l.slice_id = g.launch_id
    left join graph_kernel as k on k.trace_id = g.trace_id and k.slice_id = g.slice_id
    where g.trace_id = $trace_id and g.kind = 'kernel' and not g.is_communication
),

on_gpu as (
    select operator_id as slice_id, sum(dur)::bigint as own_dur, list(distinct name order by name) as kernels, min(device) as device
    from launched
    where operator_id is not null
    group by operator_id
),

-- the time of an operator on the host outside of those that it calls
on_host as (
    select o.slice_id, o.dur - coalesce(sum(i.dur), 0)::bigint as own_dur
    from operator as o
    left join operator as i on i.operator_id = o.slice_id
    where not exists (from launched)
    group by o.slice_id, o.dur
),

own as (
    from on_gpu
    union all by name
    from on_host
),

climb as (
    select slice_id as origin, slice_id, 0 as height from own
    union all
    select c.origin, o.operator_id, c.height + 1
    from climb as c
    inner join operator as o on o.slice_id = c.slice_id
    inner join operator as p on p.slice_id = o.operator_id
    where
        starts_with(p.name, 'aten::')
        and regexp_full_match(
            o.name,
            'aten::((cudnn|miopen|mkldnn|mps|thnn|slow|_slow|_nnpack|_mps|native|_depthwise)_?\w*(conv|batch_norm)\w*|conv_depthwise\w*'
            '|_convolution\w*|convolution_overrideable|_batch_norm_impl_index|_batch_norm_with_update'
            '|_(scaled_dot_product_)?(flash|efficient|cudnn|fused|math)_?attention\w*|_scaled_dot_product_attention_math\w*)'
        )
        and contains(o.name, 'backward') = contains(p.name, 'backward')
),

-- of one on the way up the cost is known
climbed as (
    select
        c.origin,
        arg_max(c.slice_id, c.height) as slice_id,
        any_value(x.flops) as flops,
        any_value(x.bytes) as bytes,
        any_value(x.kind) as kind,
        any_value(x.ceiling_dur) as ceiling_dur,
        any_value(x.reachable_dur) as reachable_dur,
        any_value(x.ceiling_limit) as ceiling_limit
    from climb as c
    left join operator_cost as x on x.trace_id = $trace_id and x.slice_id = c.slice_id
    group by c.origin
),

wanted as (
    select operator_id as slice_id from launched where slice_id in (select unnest($slices::bigint[]))
    union
    select if(kind = 'op', slice_id, operator_id) from cpu_slice where trace_id = $trace_id and slice_id in (select unnest($slices::bigint[]))
),

called as (
    select
        c.slice_id,
        sum(w.own_dur)::bigint as own_dur,
        flatten(list(w.kernels)) as kernels,
        min(w.device) as device,
        bool_or(c.slice_id in (from wanted) or c.origin in (from wanted)) as is_wanted,
        any_value(c.kind) as kind,
        any_value(c.flops) as flops,
        any_value(c.bytes) as bytes,
        sum(c.ceiling_dur)::bigint as ceiling_dur,
        sum(c.reachable_dur)::bigint as reachable_dur,
        any_value(c.ceiling_limit) as ceiling_limit
    from climbed as c
    inner join own as w on w.slice_id = c.origin
    group by c.slice_id
),

described as (
    select
        c.* exclude (slice_id, device),
        o.name,
        json_extract_string(o.args, '$."Input Dims"') as dims,
        json_extract_string(o.args, '$."Input type"') as types,
        json_extract_string(o.args, '$."Input Strides"') as strides,
        json_extract_string(o.args, '$."Concrete Inputs"') as settings,
        -- of the host the operator with all that it calls
        if(c.device is null, o.dur, c.own_dur) as dur,
        d.name as device,
        s.step,
        o.ts
    from called as c
    inner join operator as o on o.slice_id = c.slice_id
    left join device as d on d.trace_id = $trace_id and d.device = c.device
    asof left join (from step where trace_id = $trace_id) as s on o.ts >= s.ts
)

select
    (select parse_filename(path) from trace where trace_id = $trace_id) as trace,
    name, dims, types, strides, settings,
    count(*) as calls,
    sum(own_dur)::bigint as total_dur,
    median(dur)::bigint as median_dur,
    min(dur)::bigint as least_dur,
    arg_min(step, ts) as step,
    mode(device) as device,
    list_sort(list_distinct(flatten(list(kernels)))) as kernels,
    bool_or(is_wanted) as is_wanted,
    any_value(kind) as kind,
    any_value(flops) as flops,
    any_value(bytes) as bytes,
    median(ceiling_dur)::bigint as ceiling_dur,
    median(reachable_dur)::bigint as reachable_dur,
    any_value(ceiling_limit) as ceiling_limit,
    sum(greatest(own_dur - coalesce(reachable_dur, 0), 0))::bigint as beyond_dur
from described
group by name, dims, types, strides, settings
having total_dur > 0
order by beyond_dur desc, name, dims, types, strides, settings
