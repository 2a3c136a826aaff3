-- Questions that people ask of a trace, each with its query: a line "-- # NAME: TITLE", a line or two on what the rows are, SQL.
-- docs/tables.md begins with them; `traceq tables --task` lists them, `traceq sql TRACE --task NAME` runs one.

-- # steps: Where a step's time goes
-- The mean over the steps that count, per device; the categories of a device add up to its step.
select
    trace_id,
    device,
    category,
    round(sum(time_ledger.dur) / any_value(step_stats.steps) / 1e6, 3) as ms_per_step,
    round(100 * sum(time_ledger.dur) / any_value(step_stats.total), 1) as percent
from time_ledger
join step using (trace_id, step)
join step_stats using (trace_id)
where step.excluded is null
group by all
order by trace_id, device, ms_per_step desc

-- # slow_steps: What the unusually long steps have more of
-- Against the step nearest to the median, by category of the ledger; no rows where no step is unusually long.
select
    trace_id,
    step,
    round(dur / 1e6, 3) as step_ms,
    typical_step,
    device,
    category,
    round(change / 1e6, 3) as change_ms
from outlier_step
order by trace_id, step, abs(change) desc

-- # kernels: Top kernels per step
-- Means per step that counts; kernels at the same time count each. For one step: "and step = 3" in counted.
with
counted as (
    select trace_id, step, dur from step where excluded is null
),
total as (
    select trace_id, count(*) as steps, sum(dur) as dur from counted group by all
)
select
    trace_id,
    device,
    round(sum(kernel.dur) / any_value(total.steps) / 1e6, 3) as ms_per_step,
    round(100 * sum(kernel.dur) / any_value(total.dur), 1) as percent,
    round(count(*) / any_value(total.steps), 1) as calls,
    round(avg(kernel.dur) / 1e3, 1) as mean_us,
    round(max(kernel.dur) / 1e3, 1) as max_us,
    left(kernel.name, 100) as kernel
from kernel
semi join counted using (trace_id, step)
join total using (trace_id)
group by trace_id, device, kernel.name
order by ms_per_step desc
limit 20

-- # operators: GPU time by operator
-- The operator innermost around the call that launched the work; NULL where none is, or the call is not in the trace.
select
    trace_id,
    device,
    phase,
    round(sum(dur) / 1e6, 3) as gpu_ms,
    count(*) as launches,
    round(100 * sum(dur) / sum(sum(dur)) over (partition by trace_id, device), 1) as percent,
    operator
from launch
where kind in ('kernel', 'graph')
group by trace_id, device, phase, operator
order by gpu_ms desc
limit 20

-- # fusion: Which sequences of small kernels could be one kernel?
-- Sums over the steps that count, and times per step; saved_us is the time of the bytes that would not move, NULL where the trace has
-- no shapes or not the GPU's bandwidth.
select
    trace_id,
    device,
    steps,
    times,
    kernels,
    round(dur / steps / 1e3, 1) as us_per_step,
    round(least_dur / steps / 1e3, 1) as saved_us_least,
    round(most_dur / steps / 1e3, 1) as saved_us_most,
    left(sequence, 200) as sequence
from fusion_candidate
order by trace_id, us_per_step desc
limit 20

-- # dependencies: Which operators does an operator wait for?
-- As an execution trace says that lies beside the trace (docs/execution-traces.md): mb of tensors that it reads or changes, over
-- all calls.
select
    r.trace_id,
    r.name as operator,
    w.name as waits_for,
    d.kind,
    count(*) as pairs,
    round(sum(d.size) / 1e6, 3) as mb
from operator_dependency as d
inner join cpu_slice as r on r.trace_id = d.trace_id and r.slice_id = d.slice_id
inner join cpu_slice as w on w.trace_id = d.trace_id and w.slice_id = d.source_id
group by r.trace_id, operator, waits_for, d.kind
order by mb desc, operator, waits_for
limit 20

-- # layers: GPU time per layer of the model
-- Sums over the steps that count; with what lies before, between and after the layers they are all time of compute kernels.
-- source: module, annotation (names), or order: inferred from the order of kernels, which repeat.
select
    trace_id,
    device,
    source,
    list,
    layer,
    kernels,
    calls,
    round((forward_dur + backward_dur) / 1e6, 3) as gpu_ms,
    round(forward_dur / 1e6, 3) as forward_ms,
    round(backward_dur / 1e6, 3) as backward_ms,
    round(
        100 * (forward_dur + backward_dur) / nullif(sum(forward_dur + backward_dur) over (partition by trace_id, device), 0), 1
    ) as percent,
    name
from layer
order by trace_id, device, place
limit 300

-- # modules: GPU time per module of the model
-- Sums over the steps that count. Needs with_stack=True, ranges named after modules, or annotated graphs.
select
    trace_id,
    device,
    calls,
    round((forward_dur + backward_dur) / 1e6, 3) as gpu_ms,
    round(forward_dur / 1e6, 3) as forward_ms,
    round(backward_dur / 1e6, 3) as backward_ms,
    round(own_dur / 1e6, 3) as own_ms,
    round(100 * mfu, 1) as percent_of_peak,
    module
from module
order by trace_id, own_dur desc
limit 30

-- # regions: GPU time per region of CUDA graphs
-- Sums over the steps that count, by what the program called the work when it captured the graph; kernels at the same time
-- count each. Needs torch.cuda.graph_annotations (docs/capture.md).
select
    g.trace_id,
    g.device,
    r.region,
    r.module,
    r.phase,
    round(sum(g.dur) / 1e6, 3) as gpu_ms,
    count(*) as slices
from graph_region as r
join gpu_slice as g using (trace_id, slice_id)
semi join (select trace_id, step from step where excluded is null) as s using (trace_id, step)
group by all
order by g.trace_id, gpu_ms desc
limit 30

-- # gaps: Gaps of 1 ms and more, with what the host did
-- The longest 20. Stack and line are those of the host slice with most time of the cause; gap_stack has them for every gap.
with
gap as (
    select *, cpu_slice_id as slice_id from idle_gap where dur >= 1e6 order by dur desc limit 20
)
select trace_id, device, step, gap_id, round(dur / 1e6, 3) as ms, cause, line, stack
from stack_of('gap')
order by dur desc

-- # data: Is the GPU waiting for data?
-- Per step: waiting_ms is what the training thread waits for input, gpu_ms what of it the GPU pays.
select
    trace_id,
    step,
    round(step.dur / 1e6, 3) as step_ms,
    round(stall.data_wait / 1e6, 3) as waiting_ms,
    round(stall.data_stall / 1e6, 3) as gpu_ms,
    round(100 * stall.data_stall / step.dur, 1) as percent,
    stall.loader,
    stall.workers
from data_stall as stall
join step using (trace_id, step)
order by trace_id, step

-- # waits: Where the host waits for the GPU
-- Calls that synchronize, by the operator and the annotation around them. Copies that block are under copies.
select
    runtime_call.trace_id,
    round(sum(runtime_call.dur) / 1e6, 3) as ms,
    count(*) as calls,
    round(max(runtime_call.dur) / 1e6, 3) as longest_ms,
    runtime_call.name as call,
    operator.name as operator,
    annotation.name as annotation
from runtime_call
left join operator on operator.trace_id = runtime_call.trace_id and operator.slice_id = runtime_call.operator_id
left join annotation on annotation.trace_id = runtime_call.trace_id and annotation.slice_id = runtime_call.annotation_id
where runtime_call.name ilike '%synchronize%'
group by all
order by ms desc
limit 20

-- # latency: Launch latency percentiles
-- From the start of the launching call to the start on the GPU. It counts where the queue was empty: else the GPU was busy.
select
    trace_id,
    device,
    kind,
    if(queue_depth = 0, 'empty', 'not empty') as queue,
    count(*) as launches,
    round(quantile_cont(launch_latency, 0.5) / 1e3, 1) as p50_us,
    round(quantile_cont(launch_latency, 0.9) / 1e3, 1) as p90_us,
    round(quantile_cont(launch_latency, 0.99) / 1e3, 1) as p99_us,
    round(max(launch_latency) / 1e3, 1) as max_us
from launch
where launch_latency is not null
group by all
order by trace_id, device, kind, queue

-- # copies: Copies to and from the GPU, pinned against pageable
-- By the memory on the host's side. Compare copies of like size: small ones are slow from any memory.
select
    trace_id,
    device,
    copy_kind,
    if(copy_kind = 'h2d', src_memory, dst_memory) as host_memory,
    count(*) as copies,
    round(sum(bytes) / 1e6, 3) as mb,
    round(sum(dur) / 1e6, 3) as ms,
    round(sum(bytes) / nullif(sum(dur), 0), 2) as gb_per_s,
    round(median(bytes) / 1e3, 1) as median_kb
from memcpy
where copy_kind in ('h2d', 'd2h')
group by all
order by trace_id, device, ms desc

-- # streams: Stream utilisation over time
-- 20 bins of equal length from the first GPU work to the last: the share of each in which the stream has work.
with
work as (
    select trace_id, device, stream, ts, ts_end from gpu_slice
),
busy as (
    select * from interval_union('work')
),
bin as (
    select trace_id, bin, first + length * bin // 20 as ts, first + length * (bin + 1) // 20 as ts_end
    from (select trace_id, min(ts) as first, max(ts_end) - min(ts) as length from work group by trace_id), range(20) as t(bin)
),
shared as (
    select
        trace_id, device, stream, bin,
        sum(least(busy.ts_end, bin.ts_end) - greatest(busy.ts, bin.ts)) as dur
    from busy
    join bin using (trace_id)
    where busy.ts < bin.ts_end and bin.ts < busy.ts_end
    group by all
),
cell as (
    select * from (select distinct trace_id, device, stream from work) join bin using (trace_id)
)
select
    cell.trace_id,
    cell.device,
    cell.stream,
    cell.bin,
    round((cell.ts - min(cell.ts) over (partition by cell.trace_id)) / 1e6, 3) as from_ms,
    round(100 * coalesce(shared.dur, 0) / (cell.ts_end - cell.ts), 1) as busy_percent
from cell
left join shared on
    shared.trace_id = cell.trace_id and shared.device = cell.device and shared.stream is not distinct from cell.stream
    and shared.bin = cell.bin
order by all

-- # overlap: Is communication hidden behind compute?
-- Per step and device; exposed is what the step pays.
select
    trace_id,
    device,
    step,
    round(communication / 1e6, 3) as communication_ms,
    round(overlapped / 1e6, 3) as hidden_ms,
    round(exposed / 1e6, 3) as exposed_ms,
    round(100 * overlap_share, 1) as percent_hidden
from communication_overlap
where communication > 0
order by trace_id, device, step

-- # bandwidth: Collectives' bandwidth by size
-- algbw and busbw are those of nccl-tests, GB/s; busbw_alone leaves out the time in which ranks wait for one another, where the
-- trace tells it (collective_transfer).
select
    trace_id,
    op,
    group_size as ranks,
    size_class as least_bytes,
    count(*) as collectives,
    round(avg(bytes) / 1e6, 3) as mean_mb,
    round(avg(dur) / 1e3, 1) as mean_us,
    round(sum(bytes) / nullif(sum(dur), 0), 2) as algbw,
    round(sum(bus_bandwidth * dur) / sum(dur) filter (bus_bandwidth is not null), 2) as busbw,
    round(
        sum(bus_bandwidth * dur) filter (transfer > 0) / sum(transfer) filter (bus_bandwidth is not null), 2
    ) as busbw_alone
from collective_slice
left join (select * from collective_transfer where is_by_class) using (trace_id, slice_id)
group by all
order by trace_id, op, ranks, least_bytes

-- # ranks: Which rank holds up the others?
-- A trace per rank in one database. The usual work is the same everywhere: who is late has more of its own, and waits less.
select
    job,
    rank,
    host,
    round(own / 1e6, 3) as own_ms,
    round(transfer / 1e6, 3) as transfer_ms,
    round(wait / 1e6, 3) as waits_ms,
    late_count as times_last,
    round(win / 1e6, 3) as saves_ms
from job_rank
where own is not null
order by job, time_window, saves_ms desc nulls last, rank

-- # path: Who is on the critical path of the job?
-- Own work by rank and category of the ledger, transfers of all collectives together; no rows where the job cannot be judged.
with
part as (
    select job, time_window, unit, 'own' as kind, category, dur from job_path_ledger
    union all
    select job, time_window, if(kind = 'transfer', null, unit), kind, null, dur from job_path where kind <> 'own'
)
select
    job,
    time_window,
    rank,
    kind,
    category,
    round(sum(part.dur) / 1e6, 3) as ms,
    round(100 * sum(part.dur) / any_value(job.dur), 1) as percent
from part
join job using (job, time_window)
left join job_rank using (job, time_window, unit)
group by all
order by job, time_window, ms desc
limit 20

-- # memory: Memory growth from step to step
-- Growth in every step is a leak. Needs profile_memory=True, or nsys --cuda-memory-usage=true. A memory snapshot has no steps: see
-- memory_timeline.
select
    trace_id,
    device,
    memory,
    step,
    round(allocated_start / 1e6, 3) as start_mb,
    round(peak / 1e6, 3) as peak_mb,
    round(allocated_end / 1e6, 3) as end_mb,
    round(growth / 1e6, 3) as growth_mb
from memory_step
order by trace_id, device, memory, step

-- # holders: Who holds the memory at its peak?
-- Of a memory snapshot: the lines of the program with most of it.
select
    trace_id,
    device,
    round(bytes / 1e6, 3) as mb,
    allocations,
    category,
    phase,
    owner
from memory_holder
order by bytes desc
limit 20

-- # traces: Join two traces, by kernel
-- Of the first two traces in a database (traceq ingest before after -o both.duckdb): mean per step that counts.
with
spent as (
    select trace_id, kernel.name, sum(kernel.dur) / any_value(steps) / 1e6 as ms, count(*) / any_value(steps) as calls
    from kernel
    join step using (trace_id, step)
    join step_stats using (trace_id)
    where step.excluded is null
    group by all
),
before as (
    select * from spent where trace_id = 1
),
after as (
    select * from spent where trace_id = 2
)
select
    round(coalesce(before.ms, 0), 3) as before_ms,
    round(coalesce(after.ms, 0), 3) as after_ms,
    round(coalesce(after.ms, 0) - coalesce(before.ms, 0), 3) as change_ms,
    round(coalesce(before.calls, 0), 1) as before_calls,
    round(coalesce(after.calls, 0), 1) as after_calls,
    left(name, 100) as kernel
from before
full join after using (name)
where exists (from after)
order by abs(change_ms) desc
limit 20

-- # findings: What the report found
-- The same as the report shows, one row a finding.
select
    trace_id,
    concat('F', rank_order) as finding,
    round(saving / 1e6, 3) as saves_ms,
    round(100 * step_share, 1) as percent,
    confidence,
    title,
    fix
from finding
order by trace_id, rank_order
