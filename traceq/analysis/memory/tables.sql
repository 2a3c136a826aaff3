-- Memory over time and per step, and the calls that ask the driver for it. Definitions: docs/metrics.md.

create table if not exists memory_timeline (
    trace_id integer not null,
    device integer,
    memory varchar not null,
    ts bigint not null,
    step integer,
    allocated bigint,
    reserved bigint,
    is_total boolean not null
);
comment on table memory_timeline is 'One row per sample of how much memory is allocated, after each allocation and release that the trace has; in the order of time within device and memory.';
comment on column memory_timeline.trace_id is 'Trace.';
comment on column memory_timeline.device is 'Device; of pinned, pageable and managed memory the device whose context allocated it; NULL for memory of the host.';
comment on column memory_timeline.memory is 'device; pinned, pageable, managed (nsys; of these only managed can fill the device); host (PyTorch''s CPU allocator).';
comment on column memory_timeline.ts is 'When, ns.';
comment on column memory_timeline.step is 'Step it lies in; NULL outside all steps.';
comment on column memory_timeline.allocated is 'Allocated after it, bytes; where not is_total, at least so much. With PyTorch what tensors occupy.';
comment on column memory_timeline.reserved is 'What PyTorch''s caching allocator holds of the device then, allocated or not, bytes; NULL when the trace does not say.';
comment on column memory_timeline.is_total is 'Whether the source tells totals. Else they are sums of what it tells since the capture began; what must have been allocated before, because it is released later, is counted, and what else was there is not.';

create table if not exists memory_step (
    trace_id integer not null,
    step integer not null,
    device integer,
    memory varchar not null,
    samples bigint not null,
    is_total boolean not null,
    allocated_start bigint,
    allocated_end bigint,
    growth bigint,
    peak bigint not null,
    peak_reserved bigint,
    peak_unused bigint,
    reserved bigint,
    capacity bigint
);
comment on table memory_step is 'One row per step and each memory that has been sampled by its end.';
comment on column memory_step.trace_id is 'Trace.';
comment on column memory_step.step is 'Step.';
comment on column memory_step.device is 'As memory_timeline.device.';
comment on column memory_step.memory is 'As memory_timeline.memory.';
comment on column memory_step.samples is 'Samples in the step; none: nothing was allocated or released.';
comment on column memory_step.is_total is 'As memory_timeline.is_total.';
comment on column memory_step.allocated_start is 'Allocated when the step starts, bytes; NULL before the first sample.';
comment on column memory_step.allocated_end is 'Allocated when the step ends, bytes.';
comment on column memory_step.growth is 'allocated_end less allocated_start, bytes; growth in every step is a leak. NULL when allocated_start is.';
comment on column memory_step.peak is 'Most allocated at any time in the step, bytes.';
comment on column memory_step.peak_reserved is 'Reserved when that was reached first, bytes; NULL when the trace does not say.';
comment on column memory_step.peak_unused is 'peak_reserved less peak: held by the caching allocator and in no tensor, bytes (fragmentation, or cached from a larger peak before).';
comment on column memory_step.reserved is 'Most reserved at any time in the step, bytes; NULL when the trace does not say.';
comment on column memory_step.capacity is 'Memory of the device (device.memory_bytes), bytes; NULL when unknown and for memory of the host.';

create table if not exists allocator_call (
    trace_id integer not null,
    step integer,
    thread_id integer not null,
    name varchar not null,
    operation varchar not null,
    calls bigint not null,
    dur bigint not null,
    longest bigint not null
);
comment on table allocator_call is 'One row per step, thread and function that allocates, releases, pins or maps memory; calls inside other such calls are left out.';
comment on column allocator_call.trace_id is 'Trace.';
comment on column allocator_call.step is 'Step in which they start; NULL outside all steps.';
comment on column allocator_call.thread_id is 'Thread.';
comment on column allocator_call.name is 'Name of the call.';
comment on column allocator_call.operation is 'allocate, free, pin (allocate or register host memory), unpin, map (cuMemMap and what goes with it) or pool.';
comment on column allocator_call.calls is 'Calls.';
comment on column allocator_call.dur is 'Their time, ns.';
comment on column allocator_call.longest is 'The longest, ns.';
