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
