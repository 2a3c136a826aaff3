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
