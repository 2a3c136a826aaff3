-- Memory over time and per step, and the calls that ask the driver for it. Definitions: docs/metrics.md.

create table if not exists memory_timeline (
    trace_id integer not null,
    device integer,
    memory varchar not null,
    ts bigint not null,
    step integer,
    allocated bigint,
    reserved bigint,
    is_total boolean not null,
    active bigint
);
comment on table memory_timeline is 'One row per sample of how much memory is allocated, after each allocation and release that the trace has; in the order of time within device and memory.';
comment on column memory_timeline.device is 'Device; of pinned, pageable and managed memory the device whose context allocated it; NULL for memory of the host.';
comment on column memory_timeline.memory is 'device; pinned, pageable, managed (nsys; of these only managed can fill the device); host (PyTorch''s CPU allocator).';
comment on column memory_timeline.ts is 'When, ns.';
comment on column memory_timeline.step is 'Step it lies in; NULL outside all steps.';
comment on column memory_timeline.allocated is 'Allocated after it, bytes; where not is_total, at least so much. With PyTorch what tensors occupy; of a memory snapshot what they asked for, which is a little less.';
comment on column memory_timeline.reserved is 'What PyTorch''s caching allocator holds of the device then, allocated or not, bytes; NULL when the trace does not say.';
comment on column memory_timeline.is_total is 'Whether the source tells totals. Else they are sums of what it tells since the capture began; what must have been allocated before, because it is released later, is counted, and what else was there is not.';
comment on column memory_timeline.active is 'Allocated, or released and not yet to be used again because another stream may still use it, bytes; NULL except of memory snapshots.';

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
comment on column allocator_call.step is 'Step in which they start; NULL outside all steps.';
comment on column allocator_call.thread_id is 'Thread.';
comment on column allocator_call.name is 'Name of the call.';
comment on column allocator_call.operation is 'allocate, free, pin (allocate or register host memory), unpin, map (cuMemMap and what goes with it) or pool.';
comment on column allocator_call.calls is 'Calls.';
comment on column allocator_call.dur is 'Their time, ns.';
comment on column allocator_call.longest is 'The longest, ns.';

create table if not exists allocation_stack (
    trace_id integer not null,
    stack_id bigint not null,
    owner varchar,
    file varchar,
    phase varchar,
    says varchar,
    frames varchar[] not null
);
comment on table allocation_stack is 'One row per distinct stack of a memory snapshot: whose it is, and what it says of what was allocated.';
comment on column allocation_stack.stack_id is 'Key of the stack; see allocator_stack.';
comment on column allocation_stack.owner is 'Innermost line of the program itself, neither PyTorch''s nor another package''s: file:line function. Else the innermost Python frame, as (library), else the operator, as (operator); NULL when the stack shows none.';
comment on column allocation_stack.file is 'File of that line, with its folders; NULL when no line is the program''s own.';
comment on column allocation_stack.phase is 'backward, forward, optimizer, data or init, by the names of its frames; NULL when they do not say.';
comment on column allocation_stack.says is 'activations (a forward that the backward runs again) or gradients, where the stack alone tells; NULL elsewhere.';
comment on column allocation_stack.frames is 'Its Python frames, the innermost first: file:line function.';

create table if not exists allocation (
    trace_id integer not null,
    allocation_id bigint not null,
    device integer not null,
    address bigint not null,
    segment_id bigint,
    bytes bigint,
    requested_bytes bigint not null,
    stream bigint,
    event bigint,
    ts bigint,
    event_free bigint,
    ts_free bigint,
    event_end bigint,
    ts_end bigint,
    stack_id bigint,
    free_stack_id bigint,
    compile_context varchar,
    phase varchar,
    category varchar,
    step integer,
    round bigint,
    at_peak boolean not null,
    is_lost boolean not null
);
comment on table allocation is 'One row per allocation that a memory snapshot knows of: made in its history, freed in it, or there at its end.';
comment on column allocation.allocation_id is 'Key of the allocation within its trace.';
comment on column allocation.address is 'Where its block starts; addresses are used again.';
comment on column allocation.segment_id is 'Segment that it lies in at the end; NULL when it was freed before.';
comment on column allocation.bytes is 'Size of its block, bytes; NULL when it is not there at the end: the history tells only what was asked for.';
comment on column allocation.requested_bytes is 'What was asked for, bytes.';
comment on column allocation.stream is 'Stream it was allocated for.';
comment on column allocation.event is 'allocator_event.number of its allocation; NULL when that was before the history.';
comment on column allocation.ts is 'When it was allocated, ns; NULL when that was before the history.';
comment on column allocation.event_free is 'allocator_event.number of its release; NULL when it was not released in the history.';
comment on column allocation.ts_free is 'When it was released, ns.';
comment on column allocation.event_end is 'allocator_event.number from which its block could be used again; NULL when not in the history.';
comment on column allocation.ts_end is 'When its block could be used again, ns.';
comment on column allocation.stack_id is 'Stack that asked for it; NULL when none is known.';
comment on column allocation.free_stack_id is 'Stack that released it; NULL when none is known.';
comment on column allocation.compile_context is 'As allocator_event.compile_context.';
comment on column allocation.phase is 'Phase of training in which it was asked for: allocation_stack.phase.';
comment on column allocation.category is 'parameters (and buffers: asked for where modules are made), gradients, optimizer (its state), activations (asked for in a forward and kept beyond it), inputs, temporary (released in the phase that asked for it); NULL: cannot tell, its stack does not say.';
comment on column allocation.step is 'Step it was made in; NULL outside all steps.';
comment on column allocation.round is 'Round of forward and backward it was made in, from 0, as the stacks tell; NULL when they do not, and when it was before the history.';
comment on column allocation.at_peak is 'Whether it is there when most is in use on its device (memory_peak).';
comment on column allocation.is_lost is 'Whether it was neither released in the history nor is there at its end: the history is incomplete.';

create table if not exists memory_peak (
    trace_id integer not null,
    device integer not null,
    number bigint,
    ts bigint,
    bytes bigint not null,
    reserved bigint,
    most_reserved bigint,
    ts_most_reserved bigint,
    older bigint not null,
    older_bytes bigint not null,
    lost bigint not null,
    lost_bytes bigint not null,
    at_end bigint not null,
    requested_at_end bigint not null,
    bytes_at_end bigint not null,
    reserved_at_end bigint
);
comment on table memory_peak is 'One row per device of a memory snapshot: when most was in use, and what was there at the end.';
comment on column memory_peak.number is 'allocator_event.number that reached it first; NULL when it was so before the first event, or nothing was recorded.';
comment on column memory_peak.ts is 'When, ns; NULL without a history.';
comment on column memory_peak.bytes is 'Most in use, bytes, as torch.cuda._memory_viz draws it: what was asked for, until its block can be used again.';
comment on column memory_peak.reserved is 'What the allocator held then, bytes; NULL when segments and events contradict each other.';
comment on column memory_peak.most_reserved is 'The most it held, bytes; NULL as reserved.';
comment on column memory_peak.ts_most_reserved is 'When it first held that, ns.';
comment on column memory_peak.older is 'Allocations made before the history: freed in it, or there at its end.';
comment on column memory_peak.older_bytes is 'What they asked for, bytes: in use when the history begins.';
comment on column memory_peak.lost is 'Allocations neither released in the history nor there at its end: more than 0, the history is incomplete.';
comment on column memory_peak.lost_bytes is 'What they asked for, bytes.';
comment on column memory_peak.at_end is 'Allocations there at the end.';
comment on column memory_peak.requested_at_end is 'What they asked for, bytes.';
comment on column memory_peak.bytes_at_end is 'Their blocks, bytes: what torch.cuda.memory_allocated() said then.';
comment on column memory_peak.reserved_at_end is 'Segments at the end, bytes: what torch.cuda.memory_reserved() said then; NULL without segments.';
