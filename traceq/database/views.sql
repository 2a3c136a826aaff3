-- Convenience views: the words people type first. Columns are spelled out, so that a view never changes by accident.

--: One row per kernel: gpu_slice of kind kernel; columns as there.
create or replace view kernel as
select
    trace_id, slice_id, device, context, stream, name, ts, dur, ts_end, pid, correlation_id, external_id, launch_id, step,
    is_communication, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    registers_per_thread, shared_memory, static_shared_memory, dynamic_shared_memory, graph_id, graph_node_id, args
from gpu_slice
where kind = 'kernel';

--: One row per copy: gpu_slice of kind memcpy; columns as there.
create or replace view memcpy as
select
    trace_id, slice_id, device, context, stream, name, ts, dur, ts_end, pid, correlation_id, external_id, launch_id, step,
    is_communication, bytes, copy_kind, src_memory, dst_memory, src_device, dst_device,
    --: bytes / dur, in bytes per nanosecond, which is GB/s; NULL when the duration is 0.
    bytes / nullif(dur, 0) as gigabytes_per_second,
    args
from gpu_slice
where kind = 'memcpy';

--: One row per PyTorch operator: cpu_slice of kind op; columns as there.
create or replace view operator as
select
    trace_id, slice_id, thread_id, category, name, ts, dur, ts_end, depth, parent_id, operator_id, annotation_id, external_id, args
from cpu_slice
where kind = 'op';

--: One row per NVTX range or user annotation: cpu_slice of kind annotation; columns as there.
create or replace view annotation as
select
    trace_id, slice_id, thread_id, category, name, ts, dur, ts_end, depth, parent_id, operator_id, annotation_id, external_id, args
from cpu_slice
where kind = 'annotation';

--: One row per CUDA runtime or driver call: cpu_slice of kind runtime; columns as there.
create or replace view runtime_call as
select
    trace_id, slice_id, thread_id, category, name, ts, dur, ts_end, depth, parent_id, operator_id, annotation_id,
    correlation_id, external_id, args
from cpu_slice
where kind = 'runtime';

--: One row per GPU slice, joined with the call that launched it, and the operator and annotation around that call; NULL
--: where the call is not in the trace.
create or replace view launch as
select
    g.trace_id,
    --: The gpu_slice.
    g.slice_id,
    --: The launching call in cpu_slice.
    g.launch_id as launch_slice_id,
    --: Thread that launched it.
    c.thread_id, g.device, g.stream, g.kind, g.name,
    --: Name of the launching call.
    c.name as api_name,
    --: Name of the innermost operator around the launching call; of a kernel of a graph the one in graph_kernel, where
    --: that tells it.
    coalesce(r.operator, o.name) as operator,
    --: That operator in cpu_slice, or in graph_operator.
    coalesce(r.operator_id, c.operator_id) as operator_id,
    --: Name of the innermost annotation around the launching call.
    a.name as annotation,
    c.annotation_id,
    --: Name of the outermost annotation around the launching call.
    oa.name as outer_annotation,
    --: data, forward, backward, optimizer or other; see launch_state.
    q.phase,
    g.step,
    --: Start of the launching call, ns.
    c.ts as api_ts,
    --: Duration of the launching call, ns.
    c.dur as api_dur,
    g.ts,
    g.dur,
    --: From the start of the launching call to the start on the device, ns.
    g.ts - c.ts as launch_latency,
    --: From the end of the launching call to the start on the device, ns; negative when it starts before the call
    --: returns.
    g.ts - c.ts_end as queue_delay,
    --: Launches on the same device that had not started when this one was made; see launch_state.
    q.queue_depth
from gpu_slice as g
left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
left join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = c.operator_id
left join cpu_slice as a on a.trace_id = c.trace_id and a.slice_id = c.annotation_id
left join cpu_slice as oa on oa.trace_id = c.trace_id and oa.slice_id = c.outer_annotation_id
left join launch_state as q on q.trace_id = g.trace_id and q.slice_id = g.slice_id
left join graph_kernel as r on r.trace_id = g.trace_id and r.slice_id = g.slice_id;

--: One row per GPU slice: the line of the program that launched it. Not in launch, as it would slow down every query of it.
create or replace view launch_line as
select
    --: Trace.
    g.trace_id,
    --: The gpu_slice.
    g.slice_id,
    --: Innermost Python frame around the launching call, of a file that is neither PyTorch's nor of the standard library:
    --: FILE(LINE): FUNCTION; of a kernel of a graph the one in graph_kernel, where that tells it; NULL for none. Whole
    --: stacks: stack_of.
    coalesce(r.line, l.name) as line
from gpu_slice as g
left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
left join cpu_slice as l on l.trace_id = c.trace_id and l.slice_id = c.line_id
left join graph_kernel as r on r.trace_id = g.trace_id and r.slice_id = g.slice_id;

--: One row per device: how much of its work can be traced back to the host.
create or replace view launch_attribution as
select
    --: Trace.
    trace_id,
    --: Device.
    device,
    --: GPU slices.
    count(*) as slices,
    --: Those whose launching call is in the trace.
    count(launch_slice_id) as launched,
    --: Those launched inside an operator.
    count(operator_id) as with_operator,
    --: Those launched inside an annotation.
    count(annotation_id) as with_annotation,
    --: Those launched in a phase that is named.
    count(nullif(phase, 'other')) as with_phase,
    --: Those that belong to a step.
    count(step) as with_step,
    --: Share of the slices whose launching call is not in the trace, 0 to 1.
    count(*) filter (launch_slice_id is null) / count(*) as unattributed_share,
    --: Their time, ns; slices that overlap count each.
    coalesce(sum(dur) filter (launch_slice_id is null), 0)::bigint as unattributed_dur
from launch
group by trace_id, device;

--: One row per device, step and size of gaps: many small ones or few large ones.
create or replace view idle_histogram as
select
    trace_id, device, step,
    --: below 10 µs, below 100 µs, below 1 ms, below 10 ms, 10 ms and above.
    case
        when dur < 10_000 then 'below 10 µs'
        when dur < 100_000 then 'below 100 µs'
        when dur < 1_000_000 then 'below 1 ms'
        when dur < 10_000_000 then 'below 10 ms'
        else '10 ms and above'
    end as bucket,
    --: Gaps of that size.
    count(*) as gaps,
    --: Their time, ns.
    sum(dur)::bigint as dur
from idle_gap
group by all;

--: One row per unusually long step, device and ledger category: what it has more of than the typical step. Per step and
--: device the changes add up to the difference of the durations.
create or replace view outlier_step as
with
spread as (
    select trace_id, median(dur) as median, mad(dur) as spread, count(*) as steps
    from step
    where excluded is null
    group by trace_id
),

-- The median step is a real one: the one whose duration is nearest to the median, of two the first.
typical as (
    select s.trace_id, min_by(s.step, {'apart': abs(s.dur - p.median), 'step': s.step}) as step
    from step as s
    inner join spread as p using (trace_id)
    where s.excluded is null
    group by s.trace_id
),

outlier as (
    select s.trace_id, s.step, s.dur, t.step as typical_step
    from step as s
    inner join spread as p using (trace_id)
    inner join typical as t using (trace_id)
    where s.excluded is null and p.steps >= 4 and s.dur > p.median + 5 * p.spread and s.dur > 1.1 * p.median
)

select
    o.* exclude (compared),
    --: Device; NULL when no GPU was used.
    l.device,
    --: Ledger category.
    l.category,
    --: Time of that category in the step less that in the typical step, ns.
    sum(if(o.compared = o.step, l.dur, -l.dur))::bigint as change
from (select *, unnest([step, typical_step]) as compared from outlier) as o
left join time_ledger as l on l.trace_id = o.trace_id and l.step = o.compared
group by all;
comment on column outlier_step.step is 'A step longer than median + 5 MAD and than 1.1 medians, among at least 4.';
comment on column outlier_step.dur is 'Its duration, ns.';
comment on column outlier_step.typical_step is 'The step whose duration is nearest to the median.';

--: One row per annotation that launched GPU work on its own thread, itself or in annotations inside it: the annotation
--: projected onto the GPU.
create or replace view annotation_projection as
with recursive
-- per innermost annotation first, so that what climbs is one row an annotation, not one a launch
inside as (
    select c.trace_id, c.annotation_id as slice_id, min(g.ts) as gpu_ts, max(g.ts_end) as gpu_end, count(*) as gpu_slices
    from gpu_slice as g
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where c.annotation_id is not null
    group by c.trace_id, c.annotation_id
),

climbing as (
    from inside
    union all
    select a.trace_id, a.annotation_id, i.gpu_ts, i.gpu_end, i.gpu_slices
    from climbing as i
    inner join cpu_slice as a on a.trace_id = i.trace_id and a.slice_id = i.slice_id
    where a.annotation_id is not null
)

select
    a.trace_id,
    --: The annotation in cpu_slice.
    a.slice_id, a.thread_id,
    --: Name of the annotation.
    a.name,
    --: Start of the annotation on the host, ns.
    a.ts,
    --: Duration of the annotation on the host, ns.
    a.dur,
    --: Start of the first work it launched, ns.
    min(i.gpu_ts) as gpu_ts,
    --: From there to the end of the last work it launched, ns.
    max(i.gpu_end) - min(i.gpu_ts) as gpu_dur,
    --: GPU slices it launched.
    sum(i.gpu_slices)::bigint as gpu_slices
from climbing as i
inner join cpu_slice as a on a.trace_id = i.trace_id and a.slice_id = i.slice_id
group by a.trace_id, a.slice_id, a.thread_id, a.name, a.ts, a.dur;
