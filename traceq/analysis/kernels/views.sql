-- Kernels and operators per step, and what was measured beside what was estimated.

--: One row per device and step with operators whose floating-point operations are known: how much of the peak they use.
--: Work launched by CUDA graphs and custom kernels is not in it, so it is a lower bound. Definition: docs/metrics.md.
create or replace view step_mfu as
with
device_step as (
    select
        trace_id, device, step,
        sum(flops)::hugeint as flops,
        sum(flops) filter (peak is not null) as flops_with_peak,
        -- seconds that the device would need at the peak of each type
        sum(flops / (peak * 1e12)) as seconds_at_peak,
        sum(gpu_dur) filter (flops > 0)::bigint as gpu_dur,
        coalesce(sum(gpu_dur) filter (flops is null), 0)::bigint as unknown_dur
    from operator_cost
    where (flops > 0 or flops is null and kind in ('matmul', 'convolution', 'attention', 'experts')) and device is not null and step is not null
    group by trace_id, device, step
    having count(flops) > 0
)

select
    --: Trace.
    d.trace_id,
    --: Device.
    d.device,
    --: Step that launched them.
    d.step,
    --: Floating-point operations of matmul, convolution and attention; not all of them when unknown_dur is above 0.
    d.flops::double as flops,
    --: Share of these operations whose peak is known, 0 to 1.
    coalesce(d.flops_with_peak, 0) / d.flops as share_with_peak,
    --: Time of their kernels, ns.
    d.gpu_dur,
    --: Time of the kernels of matmul, convolution, attention and experts whose operations are not known, ns: the trace
    --: lacks their shapes or settings. Above 0, flops and achieved are incomplete.
    d.unknown_dur,
    --: Known operations over the duration of the step, TFLOP/s.
    d.flops / nullif(s.dur, 0) / 1000 as achieved,
    --: Model FLOPs utilization: the time the operations would take at the peak of their types, over the duration of the
    --: step. NULL unless all peaks and all operations of such operators are known.
    if(d.flops_with_peak = d.flops and d.unknown_dur = 0, d.seconds_at_peak * 1e9 / nullif(s.dur, 0), null) as mfu,
    --: That time over the time of their kernels alone, those of known operations; NULL unless all peaks are known.
    if(d.flops_with_peak = d.flops, d.seconds_at_peak * 1e9 / nullif(d.gpu_dur, 0), null) as kernel_efficiency
from device_step as d
inner join step as s using (trace_id, step);

--: One row per device, step and measured metric (nsys --gpu-metrics-devices, PyTorch's hardware counters): means over
--: the samples inside the step, idle time included. Without rows when nothing was measured.
create or replace view gpu_metric_step as
with
meaning as (
    from (values
        ('sm_active', '(?i)^SMs? Active \[Throughput %\]|^sm__cycles_active\.avg\.pct'),
        ('sm_issue', '(?i)^SM Issue \[Throughput %\]|^sm__inst_(issued|executed(_realtime)?)\.avg\.pct'),
        ('tensor_active', '(?i)^Tensor Active[^\[]*\[Throughput %\]|^sm__(pipe_tensor\w*_cycles_active|inst_executed_pipe_tensor)\w*\.avg\.pct'),
        ('warps_active', '(?i)^Compute Warps in Flight \[Throughput %\]|^sm__warps_active\.avg\.pct'),
        ('graphics_active', '(?i)^GR Active \[Throughput %\]|^gr__cycles_active\.(avg|sum)\.pct'),
        ('dram_read', '(?i)^DRAM Read (Bandwidth|Throughput) \[Throughput %\]|^dram__(read_throughput|bytes_read|sectors_read)\.\w+\.pct'),
        ('dram_write', '(?i)^DRAM Write (Bandwidth|Throughput) \[Throughput %\]|^dram__(write_throughput|bytes_write|sectors_write)\.\w+\.pct'),
        ('pcie_read', '(?i)^PCIe (Read|RX) Throughput \[Throughput %\]|^pcie__(read|rx)\w*\.\w+\.pct'),
        ('pcie_write', '(?i)^PCIe (Write|TX) Throughput \[Throughput %\]|^pcie__(write|tx)\w*\.\w+\.pct')
    ) as t (metric, pattern)
),

-- one name per metric and device: two would be counted twice
series as (
    select c.trace_id, c.device, m.metric, min(c.name) as name
    from (select distinct trace_id, device, name from counter where device is not null) as c
    inner join meaning as m on regexp_matches(c.name, m.pattern)
    group by c.trace_id, c.device, m.metric
)

select
    --: Trace.
    c.trace_id,
    --: Device.
    c.device,
    --: Step in which the samples were taken.
    s.step,
    --: sm_active, sm_issue, tensor_active, warps_active (achieved occupancy), graphics_active, dram_read, dram_write,
    --: pcie_read, pcie_write.
    n.metric,
    --: Name of the series in counter.
    n.name,
    --: Mean share of the possible, 0 to 1.
    avg(c.value) / 100 as mean,
    --: Highest sample, 0 to 1.
    max(c.value) / 100 as highest,
    --: Samples.
    count(*) as samples
from counter as c
inner join series as n on n.trace_id = c.trace_id and n.device = c.device and n.name = c.name
asof inner join step as s on s.trace_id = c.trace_id and c.ts >= s.ts
where c.ts < s.ts_end and c.value >= 0 and isfinite(c.value)
group by c.trace_id, c.device, s.step, n.metric, n.name;

--: One row per device and step with kernels: estimates from launch geometry and names, weighted by time, beside what
--: was measured.
create or replace view step_occupancy as
with
proxy as (
    select
        trace_id, device, step,
        count(*) as kernels,
        sum(exclusive_dur) as kernel_dur,
        sum(exclusive_dur) filter (estimated_occupancy is not null) as estimated_dur,
        sum(exclusive_dur * estimated_occupancy) as occupied,
        sum(exclusive_dur) filter (sm_coverage is not null) as covered_dur,
        sum(exclusive_dur * sm_coverage) as covered,
        sum(exclusive_dur) filter (tensor_core is not null) as told_dur,
        sum(exclusive_dur) filter (tensor_core) as tensor_dur
    from kernel_occupancy
    where step is not null
    group by trace_id, device, step
),

measured as (
    select
        trace_id, device, step,
        max(mean) filter (metric = 'sm_active') as sm_active,
        max(mean) filter (metric = 'warps_active') as warps_active,
        max(mean) filter (metric = 'tensor_active') as tensor_active,
        max(mean) filter (metric = 'dram_read') as dram_read,
        max(mean) filter (metric = 'dram_write') as dram_write
    from gpu_metric_step
    group by trace_id, device, step
)

select
    --: Trace.
    p.trace_id,
    --: Device.
    p.device,
    --: Step: estimates of the kernels it launched, measurements of the time it lasted.
    p.step,
    --: Kernels.
    p.kernels,
    --: Their time, ns: the sum of exclusive_dur.
    p.kernel_dur,
    --: Mean of kernel_occupancy.estimated_occupancy while kernels run, over those for which it is known; 0 to 1.
    p.occupied / nullif(p.estimated_dur, 0) as estimated_occupancy,
    --: Mean share of the multiprocessors that get a block, likewise.
    p.covered / nullif(p.covered_dur, 0) as sm_coverage,
    --: Share of the time of kernels on tensor cores in that of kernels whose names tell; 0 to 1.
    coalesce(p.tensor_dur, 0) / nullif(p.told_dur, 0) as tensor_core_share,
    --: Share of the time of kernels whose names tell.
    coalesce(p.told_dur, 0) / nullif(p.kernel_dur, 0) as tensor_core_told,
    --: Measured: mean share of multiprocessors with work, idle time included; NULL when not measured.
    m.sm_active,
    --: Measured: mean share of the warps that fit that were there (achieved occupancy); NULL when not measured.
    m.warps_active,
    --: Measured: mean share of time that tensor cores worked; NULL when not measured.
    m.tensor_active,
    --: Measured: mean share of the memory bandwidth spent reading; NULL when not measured.
    m.dram_read,
    --: Measured: the same for writing.
    m.dram_write
from proxy as p
left join measured as m using (trace_id, device, step);

-- Experts are told by names: ranges and modules with a number behind the word (mlp.experts.7, Expert_3), or several modules of one class
-- right inside a mixture of experts (SwitchMoE_0/FeedForward_2). Of what a shared expert gets nothing is uneven: it is left out.
--: One row per device and expert of a mixture that runs as a module or range of its own, in counted steps: its tokens and
--: the time of its kernels in the forward pass. Experts that one kernel computes together have none (grouped_product).
create or replace view expert_work as
with
child as (
    select distinct
        trace_id, module, parent,
        regexp_extract(module, '([^/]+)$', 1) as name,
        count(*) over (partition by trace_id, device, parent, class) as alike
    from (
        select
            trace_id, device, module,
            rtrim(regexp_extract(module, '^(.*/)[^/]+$', 1), '/') as parent,
            regexp_extract(module, '([^/]+?)_\d+$', 1) as class
        from module
    )
    where regexp_matches(regexp_extract(parent, '([^/]+)$', 1), '(?i)moe|mixture|experts')
        and class <> '' and not regexp_matches(class, '(?i)shared|router|gate|linear|norm|act|dropout|sequential')
),

named as (
    select
        trace_id, kind, name,
        nullif(regexp_extract(if(starts_with(name, 'nn.Module: '), '', name), '^(.*?)[._ ]?(?:local_)?experts?[._ \[]?\d+\]?$', 1, 'i'), '') as place,
        regexp_extract(name, '(\d+)\]?$', 1)::integer as expert
    from (
        select distinct trace_id, kind, name
        from cpu_slice
        where kind in ('python', 'annotation') and contains(lower(name), 'expert')
    )
    where
        not regexp_matches(name, '(?i)shared')
        and (
            regexp_matches(name, '^nn\.Module: \w*Expert(MLP|FFN|Layer)?_\d{1,6}$')
            or (not starts_with(name, 'nn.Module: ') and regexp_matches(name, '(?i)^([\w. /]*[._ /])?experts?[._ \[]?\d{1,6}\]?$'))
        )
    union
    select trace_id, 'python', 'nn.Module: ' || name, parent, regexp_extract(name, '(\d+)$', 1)::integer
    from child
    where alike > 1
),

frame as (
    select c.trace_id, c.slice_id, c.thread_id, c.ts, c.ts_end, any_value(n.place) as place, any_value(n.expert) as expert
    from cpu_slice as c
    inner join named as n using (trace_id, kind, name)
    where c.dur > 0
    group by c.trace_id, c.slice_id, c.thread_id, c.ts, c.ts_end
),

-- The first product tells the tokens: those behind it have as many rows.
product as (
    select c.trace_id, c.thread_id, c.ts, c.ts_end, c.name, try_cast(if(json_valid(c.args), c.args, null) -> 'Input Dims' as bigint[][]) as dims
    from operator_cost as o
    inner join cpu_slice as c using (trace_id, slice_id)
    where o.kind = 'matmul' and o.trace_id in (select trace_id from frame)
),

counted as (
    select
        f.trace_id, f.slice_id,
        min_by(
            case p.name
                when 'aten::mm' then p.dims[1][1]
                when 'aten::addmm' then p.dims[2][1]
                when 'aten::linear' then list_aggregate(p.dims[1][:-2], 'product')::bigint
            end,
            {'ts': p.ts, 'ts_end': -p.ts_end}
        ) as tokens
    from product as p
    asof inner join frame as f on f.trace_id = p.trace_id and f.thread_id = p.thread_id and p.ts >= f.ts
    where p.ts_end <= f.ts_end
    group by f.trace_id, f.slice_id
),

worked as (
    select f.trace_id, f.slice_id, k.device, sum(k.exclusive_dur) as dur
    from (
        select k.trace_id, k.device, k.exclusive_dur, l.thread_id, l.ts
        from kernel_occupancy as k
        inner join gpu_slice as g using (trace_id, slice_id)
        inner join cpu_slice as l on l.trace_id = k.trace_id and l.slice_id = g.launch_id
        inner join step as s on s.trace_id = k.trace_id and s.step = k.step
        where k.family <> 'communication' and s.excluded is null and k.trace_id in (select trace_id from frame)
    ) as k
    asof inner join frame as f on f.trace_id = k.trace_id and f.thread_id = k.thread_id and k.ts >= f.ts
    where k.ts < f.ts_end
    group by f.trace_id, f.slice_id, k.device
),

summed as (
    select
        w.trace_id, w.device, f.place, f.expert,
        count(*) as calls,
        if(count(c.tokens) = count(*), sum(c.tokens), null)::bigint as tokens,
        sum(w.dur)::bigint as dur
    from worked as w
    inner join frame as f using (trace_id, slice_id)
    left join counted as c using (trace_id, slice_id)
    group by w.trace_id, w.device, f.place, f.expert
)

select
    --: Trace.
    trace_id,
    --: Device.
    device,
    --: The layer that it is part of: what stands before the number, or the module around it; NULL when nothing does.
    place,
    --: Its number: within the layer, or among all modules of its class.
    expert,
    --: Times it was called and launched kernels.
    calls,
    --: Tokens: rows of the first product of each call; NULL when the trace lacks shapes of one.
    tokens,
    --: Time of its kernels in the forward pass, ns: sum of kernel_occupancy.exclusive_dur, without communication.
    dur,
    --: tokens over the mean of the experts of its layer, where the tokens of all are known, else dur: 1 where all get as
    --: much. Experts that no token came to are not among them. NULL of a layer with one.
    case
        when count(*) over layer = 1 then null
        when count(tokens) over layer = count(*) over layer then tokens / nullif(avg(tokens) over layer, 0)
        else dur / nullif(avg(dur) over layer, 0)
    end as load
from summed
window layer as (partition by trace_id, device, place);

--: One row per device and operator that computes the products of several experts together, in counted steps: how many
--: rows go in. How many of them each expert gets is in no trace: its shapes hold their sum.
create or replace view grouped_product as
select
    --: Trace.
    o.trace_id,
    --: Device.
    o.device,
    --: The operator: aten::_grouped_mm, vllm::moe_forward.
    c.name,
    --: Calls.
    count(*) as calls,
    --: Rows of its first operand; NULL when the trace lacks shapes of one.
    if(count(d.rows) = count(*), sum(d.rows), null)::bigint as rows,
    --: Time of its kernels, ns, as in operator_cost; NULL without kernels.
    sum(o.gpu_dur)::bigint as dur
from operator_cost as o
inner join cpu_slice as c using (trace_id, slice_id)
inner join step as s on s.trace_id = o.trace_id and s.step = o.step
cross join lateral (
    select
        list_aggregate(
            (try_cast(if(json_valid(c.args), c.args, null) -> 'Input Dims' as bigint[][]))[1][:-2], 'product'
        )::bigint as rows
) as d
where
    s.excluded is null and o.device is not null
    and (o.kind = 'experts' or (o.kind = 'matmul' and regexp_matches(c.name, '(?i)grouped_?(mm|gemm)|\bgmm')))
group by o.trace_id, o.device, c.name;

--: One row per device and sequence of operators whose memory-bound kernels run one after another on a stream, with nothing
--: else between them, at least twice in counted steps: sums over these steps. Definition: docs/metrics.md.
create or replace view fusion_candidate as
with
-- Of single tensors: what works on many at once is as fused as it gets, and optimizers are another rule's.
sliced as (
    select
        g.trace_id, g.device, g.stream, g.step, g.ts, g.slice_id, g.name, k.family, k.exclusive_dur,
        coalesce(r.operator_id, l.operator_id) as operator_id,
        coalesce(
            k.family in ('elementwise', 'copy', 'norm', 'softmax', 'reduce', 'quantize', 'index')
            and not regexp_matches(g.name, 'multi_tensor_apply|CatArray|FillFunctor|split_with_sizes|chunk_cat|distribution_')
            and s.phase is distinct from 'optimizer',
            false
        ) as is_small
    from gpu_slice as g
    inner join step as t on t.trace_id = g.trace_id and t.step = g.step and t.excluded is null
    left join kernel_occupancy as k on k.trace_id = g.trace_id and k.slice_id = g.slice_id
    left join launch_state as s on s.trace_id = g.trace_id and s.slice_id = g.slice_id
    left join cpu_slice as l on l.trace_id = g.trace_id and l.slice_id = g.launch_id
    left join graph_kernel as r on r.trace_id = g.trace_id and r.slice_id = g.slice_id
    where g.device is not null
),

-- A run is identified by how many other slices came before.
numbered as (
    select
        *,
        row_number() over (partition by trace_id, device, stream, step order by ts, slice_id)
        - row_number() over (partition by trace_id, device, stream, step, is_small order by ts, slice_id) as run
    from sliced
),

-- Kernels of one operator are one piece of a run; kernels without an operator are pieces of their own.
piece as (
    select
        trace_id, device, stream, step, run, operator_id,
        min(ts) as ts,
        count(*) as kernels,
        sum(exclusive_dur) as dur,
        arg_max(family, ts) as family,
        any_value(name) as kernel
    from numbered
    where is_small
    group by trace_id, device, stream, step, run, operator_id, if(operator_id is null, slice_id, null)
),

operator as (
    select c.trace_id, c.slice_id, c.name, c.args
    from cpu_slice as c
    semi join (select trace_id, operator_id from piece) as p on p.trace_id = c.trace_id and p.operator_id = c.slice_id
    union all
    select trace_id, slice_id, name, args from graph_operator
),

-- Recorded texts are few, operators many.
recorded as (
    select args, try_cast(text -> 'Input Dims' as bigint[][]) as dims, try_cast(text -> 'Input type' as varchar[]) as types
    from (select args, if(json_valid(args), args, null)::json as text from (select distinct args from operator))
),

-- Inputs that are tensors, with the bytes of an element; all of them are known, or none.
input as (
    select
        args,
        list_filter(
            list_transform(
                list_zip(dims, types),
                lambda x: {
                    'dims': x[1],
                    'elements': list_aggregate([1.0::double] || x[1]::double[], 'product'),
                    'size': case
                        when x[2] in ('double', 'long int', 'long') then 8
                        when x[2] in ('float', 'int') then 4
                        when x[2] in ('c10::Half', 'c10::BFloat16', 'c10::bfloat16', 'short int', 'short') then 2
                        when starts_with(x[2], 'c10::Float8_') or x[2] in ('signed char', 'unsigned char', 'bool') then 1
                    end
                }
            ),
            lambda i: len(i.dims) > 0
        ) as inputs
    from recorded
    where len(dims) = len(types)
),

-- What an operator writes is as large as its inputs are broadcast to one another.
shape as (
    select
        args, inputs,
        list_transform(
            range(rank),
            lambda place: list_max(list_transform(
                inputs, lambda i: if(place + len(i.dims) >= rank, i.dims[place + len(i.dims) - rank + 1], 1)
            ))
        ) as broadcast
    from (select args, inputs, list_max(list_transform(inputs, lambda i: len(i.dims))) as rank from input)
    where len(inputs) > 0 and len(list_filter(inputs, lambda i: i.size is null or i.elements is null)) = 0
),

named as (
    select
        p.*, s.inputs,
        coalesce(
            regexp_replace(o.name, '^aten::', ''),
            -- of kernels without an operator: PyTorch's functor, else the function
            nullif(regexp_extract(p.kernel, '(\w+)_kernel_cuda', 1), ''),
            nullif(regexp_extract(p.kernel, '(\w*Functor\w*)', 1), ''),
            nullif(regexp_extract(p.kernel, '(\w+)\s*([<(]|$)', 1), ''),
            p.kernel
        ) as name,
        -- norms have weights that are not broadcast; what reductions and indexing write, shapes of inputs do not tell
        case
            when p.family in ('norm', 'softmax') then s.inputs[1].dims
            when p.family in ('reduce', 'index') then []
            else s.broadcast
        end as output
    from piece as p
    left join operator as o on o.trace_id = p.trace_id and o.slice_id = p.operator_id
    left join shape as s on s.args is not distinct from o.args
),

paired as (
    select
        *,
        lead(name) over following as next_name,
        lead(inputs) over following as next_inputs,
        list_aggregate([1.0::double] || output::double[], 'product') as elements
    from named
    window following as (partition by trace_id, device, stream, step, run order by ts, operator_id)
),

-- An input of another shape with as many elements may be the same tensor seen differently.
moved as (
    select
        *,
        if(
            len(output) > 0 and next_name <> name,
            elements * coalesce(list_min(list_transform(list_filter(next_inputs, lambda i: i.dims = output), lambda i: i.size)), 0),
            if(output is null or next_inputs is null, null, 0)
        ) as least_bytes,
        if(
            len(output) > 0,
            2 * elements
            * coalesce(list_max(list_transform(list_filter(next_inputs, lambda i: i.elements = elements), lambda i: i.size)), 0),
            if(output is null or next_inputs is null, null, 0)
        ) as most_bytes
    from paired
),

runs as (
    select
        trace_id, device, stream, step, run,
        string_agg(name, ' → ' order by ts, operator_id) as sequence,
        count(*) as operators,
        sum(kernels) as kernels,
        sum(dur) as dur,
        if(count(if(next_inputs is null, null, least_bytes)) = count(next_name), sum(least_bytes), null) as least_bytes,
        if(count(if(next_inputs is null, null, most_bytes)) = count(next_name), sum(most_bytes), null) as most_bytes
    from moved
    group by trace_id, device, stream, step, run
    having min(name) <> max(name)
),

counted as (
    select trace_id, count(*) as steps from step where excluded is null group by trace_id
)

select
    --: Trace.
    r.trace_id,
    --: Device.
    r.device,
    --: The operators in their order, without aten::, with → between: mul → add → silu. Of kernels whose operator is not
    --: known the function that they compute, from their names.
    r.sequence,
    --: Operators in it.
    any_value(r.operators)::integer as operators,
    --: Times it ran.
    count(*) as times,
    --: Counted steps of the trace, whether it ran in them or not.
    any_value(c.steps) as steps,
    --: Kernels.
    sum(r.kernels)::bigint as kernels,
    --: Their time, ns: sum of kernel_occupancy.exclusive_dur.
    sum(r.dur)::bigint as dur,
    --: Bytes that need not move if each sequence were one kernel, at least: one read of what an operator writes, where
    --: another one behind it reads a tensor of that shape. NULL where shapes or types are not recorded.
    if(count(r.least_bytes) = count(*), sum(r.least_bytes), null)::bigint as least_bytes,
    --: The same at most: write and read of it, and also where the next one reads as many elements in another shape.
    if(count(r.most_bytes) = count(*), sum(r.most_bytes), null)::bigint as most_bytes,
    --: Time that least_bytes take at 0.8 of the peak memory bandwidth, what copies reach, ns; no more than dur. NULL
    --: where the bytes or the bandwidth (device_model) are not known.
    if(count(r.least_bytes) = count(*), sum(least(r.least_bytes * 1e9 / (0.8 * m.memory_bandwidth), r.dur)), null)::bigint as least_dur,
    --: The same of most_bytes, ns.
    if(count(r.most_bytes) = count(*), sum(least(r.most_bytes * 1e9 / (0.8 * m.memory_bandwidth), r.dur)), null)::bigint as most_dur
from runs as r
inner join counted as c using (trace_id)
left join device_model as m on m.trace_id = r.trace_id and m.device = r.device
group by r.trace_id, r.device, r.sequence
having count(*) > 1;

--: One row per kernel of the trace with a report of a kernel profiler, by launch geometry, and reason of its stalls: means
--: over the launches that the reports are about.
create or replace view kernel_reported_stall as
select
    --: Trace.
    r.trace_id,
    --: gpu_slice.name.
    r.name,
    --: gpu_slice.grid_x.
    r.grid_x,
    --: gpu_slice.grid_y.
    r.grid_y,
    --: gpu_slice.grid_z.
    r.grid_z,
    --: gpu_slice.block_x.
    r.block_x,
    --: gpu_slice.block_y.
    r.block_y,
    --: gpu_slice.block_z.
    r.block_z,
    --: kernel_stall.reason.
    s.reason,
    --: Mean share of the time of its warps, 0 to 1; NULL where no report tells.
    sum(s.share * p.launches) / sum(p.launches) filter (s.share is not null) as share,
    --: Mean cycles for each instruction that a warp issues (of rocprof-compute for each wave); NULL likewise.
    sum(s.cycles * p.launches) / sum(p.launches) filter (s.cycles is not null) as cycles
from reported_kernel as r
inner join kernel_report as p using (trace_id, report_id)
inner join kernel_stall as s using (trace_id, report_id)
group by all;

--: One row per device and kernel with a report of a kernel profiler, by launch geometry, that ran in counted steps: what the
--: reports say, beside its time in the trace. The reports' times are not the trace's (kernel_report).
create or replace view kernel_reported as
with
measured as (
    select
        r.trace_id, r.name, r.grid_x, r.grid_y, r.grid_z, r.block_x, r.block_y, r.block_z,
        min(p.tool) as tool,
        min(p.file) as file,
        min(r.matched_by) as matched_by,
        sum(p.launches)::bigint as launches,
        min(p.limiter) as limiter,
        sum(p.compute_throughput * p.launches) / sum(p.launches) filter (p.compute_throughput is not null) as compute_throughput,
        sum(p.memory_throughput * p.launches) / sum(p.launches) filter (p.memory_throughput is not null) as memory_throughput,
        sum(p.dram_throughput * p.launches) / sum(p.launches) filter (p.dram_throughput is not null) as dram_throughput,
        sum(p.l2_throughput * p.launches) / sum(p.launches) filter (p.l2_throughput is not null) as l2_throughput,
        sum(p.achieved_occupancy * p.launches) / sum(p.launches) filter (p.achieved_occupancy is not null) as achieved_occupancy,
        sum(p.theoretical_occupancy * p.launches) / sum(p.launches) filter (p.theoretical_occupancy is not null) as theoretical_occupancy,
        sum(p.warp_latency * p.launches) / sum(p.launches) filter (p.warp_latency is not null) as warp_latency,
        sum(p.dur * p.launches) / sum(p.launches) filter (p.dur is not null) as dur
    from reported_kernel as r
    inner join kernel_report as p using (trace_id, report_id)
    group by all
),

stalled as (
    select
        trace_id, name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
        list(reason order by share desc, reason) as reasons,
        list(share order by share desc, reason) as shares
    from kernel_reported_stall
    where reason <> 'selected' and share is not null
    group by all
)

select
    --: Trace.
    m.trace_id,
    --: Device.
    g.device,
    --: gpu_slice.name.
    m.name,
    --: gpu_slice.grid_x.
    m.grid_x,
    --: gpu_slice.grid_y.
    m.grid_y,
    --: gpu_slice.grid_z.
    m.grid_z,
    --: gpu_slice.block_x.
    m.block_x,
    --: gpu_slice.block_y.
    m.block_y,
    --: gpu_slice.block_z.
    m.block_z,
    --: How often it ran in the counted steps of the trace.
    count(*) as kernels,
    --: Its time in them, ns: sum of kernel_occupancy.exclusive_dur.
    sum(k.exclusive_dur)::bigint as dur,
    --: kernel_report.tool.
    m.tool,
    --: kernel_report.file; of several the first by name.
    m.file,
    --: reported_kernel.matched_by.
    m.matched_by,
    --: Launches that the reports are about.
    m.launches,
    --: kernel_report.limiter.
    m.limiter,
    --: Mean of kernel_report.dur, ns: with the profiler's clocks and cold caches, not to be compared with the trace's.
    m.dur as reported_dur,
    --: Mean of kernel_report.compute_throughput over the launches of these rows, a share.
    m.compute_throughput,
    --: The same of memory_throughput, a share.
    m.memory_throughput,
    --: The same of dram_throughput, a share.
    m.dram_throughput,
    --: The same of l2_throughput, a share.
    m.l2_throughput,
    --: The same of achieved_occupancy, a share.
    m.achieved_occupancy,
    --: The same of theoretical_occupancy, a share.
    m.theoretical_occupancy,
    --: The same of warp_latency, cycles.
    m.warp_latency,
    --: Reason for which its warps wait most of the time, as in kernel_stall; NULL where no report tells.
    s.reasons[1] as stall,
    --: Share of that, 0 to 1.
    s.shares[1] as stall_share,
    --: The next reason; NULL where no report tells another.
    s.reasons[2] as next_stall,
    --: Share of that, 0 to 1.
    s.shares[2] as next_stall_share
from measured as m
inner join gpu_slice as g
    on
        g.trace_id = m.trace_id and g.kind = 'kernel' and g.name = m.name
        and g.grid_x is not distinct from m.grid_x and g.grid_y is not distinct from m.grid_y
        and g.grid_z is not distinct from m.grid_z and g.block_x is not distinct from m.block_x
        and g.block_y is not distinct from m.block_y and g.block_z is not distinct from m.block_z
inner join kernel_occupancy as k on k.trace_id = g.trace_id and k.slice_id = g.slice_id
inner join step as t on t.trace_id = k.trace_id and t.step = k.step and t.excluded is null
left join stalled as s
    on
        s.trace_id = m.trace_id and s.name = m.name
        and s.grid_x is not distinct from m.grid_x and s.grid_y is not distinct from m.grid_y
        and s.grid_z is not distinct from m.grid_z and s.block_x is not distinct from m.block_x
        and s.block_y is not distinct from m.block_y and s.block_z is not distinct from m.block_z
group by all;
