-- Convenience views: the words people type first. Columns are spelled out, so that a view never changes by accident.

create view kernel as
select
    trace_id, slice_id, device, context, stream, name, ts, dur, ts_end, pid, correlation_id, external_id, launch_id, step,
    is_communication, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    registers_per_thread, shared_memory, static_shared_memory, dynamic_shared_memory, graph_id, graph_node_id, args
from gpu_slice
where kind = 'kernel';
comment on view kernel is 'One row per kernel: gpu_slice of kind kernel; columns as there.';

create view memcpy as
select
    trace_id, slice_id, device, context, stream, name, ts, dur, ts_end, pid, correlation_id, external_id, launch_id, step,
    is_communication, bytes, copy_kind, src_memory, dst_memory, src_device, dst_device,
    bytes / nullif(dur, 0) as gigabytes_per_second,
    args
from gpu_slice
where kind = 'memcpy';
comment on view memcpy is 'One row per copy: gpu_slice of kind memcpy; columns as there.';
comment on column memcpy.gigabytes_per_second is 'bytes / dur, in bytes per nanosecond, which is GB/s; NULL when the duration is 0.';

create view operator as
select
    trace_id, slice_id, thread_id, category, name, ts, dur, ts_end, depth, parent_id, operator_id, annotation_id, external_id, args
from cpu_slice
where kind = 'op';
comment on view operator is 'One row per PyTorch operator: cpu_slice of kind op; columns as there.';

create view annotation as
select
    trace_id, slice_id, thread_id, category, name, ts, dur, ts_end, depth, parent_id, operator_id, annotation_id, external_id, args
from cpu_slice
where kind = 'annotation';
comment on view annotation is 'One row per NVTX range or user annotation: cpu_slice of kind annotation; columns as there.';

create view runtime_call as
select
    trace_id, slice_id, thread_id, category, name, ts, dur, ts_end, depth, parent_id, operator_id, annotation_id,
    correlation_id, external_id, args
from cpu_slice
where kind = 'runtime';
comment on view runtime_call is 'One row per CUDA runtime or driver call: cpu_slice of kind runtime; columns as there.';

create view launch as
select
    g.trace_id,
    g.slice_id,
    g.launch_id as launch_slice_id,
    c.thread_id,
    g.device,
    g.stream,
    g.kind,
    g.name,
    c.name as api_name,
    o.name as operator,
    c.operator_id,
    a.name as annotation,
    c.annotation_id,
    g.step,
    c.ts as api_ts,
    c.dur as api_dur,
    g.ts,
    g.dur,
    g.ts - c.ts as launch_latency,
    g.ts - c.ts_end as queue_delay
from gpu_slice as g
left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
left join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = c.operator_id
left join cpu_slice as a on a.trace_id = c.trace_id and a.slice_id = c.annotation_id;
comment on view launch is 'One row per GPU slice, joined with the call that launched it, and the operator and annotation around that call; NULL where the call is not in the trace.';
comment on column launch.slice_id is 'The gpu_slice.';
comment on column launch.launch_slice_id is 'The launching call in cpu_slice.';
comment on column launch.thread_id is 'Thread that launched it.';
comment on column launch.api_name is 'Name of the launching call.';
comment on column launch.operator is 'Name of the innermost operator around the launching call.';
comment on column launch.annotation is 'Name of the innermost annotation around the launching call.';
comment on column launch.api_ts is 'Start of the launching call, ns.';
comment on column launch.api_dur is 'Duration of the launching call, ns.';
comment on column launch.launch_latency is 'From the start of the launching call to the start on the device, ns.';
comment on column launch.queue_delay is 'From the end of the launching call to the start on the device, ns; negative when it starts before the call returns.';
