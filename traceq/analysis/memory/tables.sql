-- Memory over time and per step, and the calls that ask the driver for it. Definitions: docs/metrics.md.

--: One row per sample of how much memory is allocated, after each allocation and release that the trace has; in the
--: order of time within device and memory.
create table if not exists memory_timeline (
    --: Trace.
    trace_id integer not null,
    --: Device; of pinned, pageable and managed memory the device whose context allocated it; NULL for memory of the
    --: host.
    device integer,
    --: device; pinned, pageable, managed (nsys; of these only managed can fill the device); host (PyTorch's CPU
    --: allocator).
    memory varchar not null,
    --: When, ns.
    ts bigint not null,
    --: Step it lies in; NULL outside all steps.
    step integer,
    --: Allocated after it, bytes; where not is_total, at least so much. With PyTorch what tensors occupy; of a memory
    --: snapshot what they asked for, which is a little less.
    allocated bigint,
    --: What PyTorch's caching allocator holds of the device then, allocated or not, bytes; NULL when the trace does not
    --: say.
    reserved bigint,
    --: Whether the source tells totals. Else they are sums of what it tells since the capture began; what must have
    --: been allocated before, because it is released later, is counted, and what else was there is not.
    is_total boolean not null,
    --: Allocated, or released and not yet to be used again because another stream may still use it, bytes; NULL except
    --: of memory snapshots.
    active bigint
);

--: One row per step and each memory that has been sampled by its end.
create table if not exists memory_step (
    --: Trace.
    trace_id integer not null,
    --: Step.
    step integer not null,
    --: As memory_timeline.device.
    device integer,
    --: As memory_timeline.memory.
    memory varchar not null,
    --: Samples in the step; none: nothing was allocated or released.
    samples bigint not null,
    --: As memory_timeline.is_total.
    is_total boolean not null,
    --: Allocated when the step starts, bytes; NULL before the first sample.
    allocated_start bigint,
    --: Allocated when the step ends, bytes.
    allocated_end bigint,
    --: allocated_end less allocated_start, bytes; growth in every step is a leak. NULL when allocated_start is.
    growth bigint,
    --: Most allocated at any time in the step, bytes.
    peak bigint not null,
    --: Reserved when that was reached first, bytes; NULL when the trace does not say.
    peak_reserved bigint,
    --: peak_reserved less peak: held by the caching allocator and in no tensor, bytes (fragmentation, or cached from a
    --: larger peak before).
    peak_unused bigint,
    --: Most reserved at any time in the step, bytes; NULL when the trace does not say.
    reserved bigint,
    --: Memory of the device (device.memory_bytes), bytes; NULL when unknown and for memory of the host.
    capacity bigint
);

--: One row per step, thread and function that allocates, releases, pins or maps memory; calls inside other such calls
--: are left out.
create table if not exists allocator_call (
    --: Trace.
    trace_id integer not null,
    --: Step in which they start; NULL outside all steps.
    step integer,
    --: Thread.
    thread_id integer not null,
    --: Name of the call.
    name varchar not null,
    --: allocate, free, pin (allocate or register host memory), unpin, map (cuMemMap and what goes with it) or pool.
    operation varchar not null,
    --: Calls.
    calls bigint not null,
    --: Their time, ns.
    dur bigint not null,
    --: The longest, ns.
    longest bigint not null
);

--: One row per distinct stack of a memory snapshot: whose it is, and what it says of what was allocated.
create table if not exists allocation_stack (
    --: Trace.
    trace_id integer not null,
    --: Key of the stack; see allocator_stack.
    stack_id bigint not null,
    --: Innermost line of the program itself, neither PyTorch's nor another package's: file:line function. Else the
    --: innermost Python frame, as (library), else the operator, as (operator); NULL when the stack shows none.
    owner varchar,
    --: File of that line, with its folders; NULL when no line is the program's own.
    file varchar,
    --: backward, forward, optimizer, data or init, by the names of its frames; NULL when they do not say.
    phase varchar,
    --: activations (a forward that the backward runs again) or gradients, where the stack alone tells; NULL elsewhere.
    says varchar,
    --: Its Python frames, the innermost first: file:line function.
    frames varchar[] not null
);

--: One row per allocation that a memory snapshot knows of: made in its history, freed in it, or there at its end.
create table if not exists allocation (
    --: Trace.
    trace_id integer not null,
    --: Key of the allocation within its trace.
    allocation_id bigint not null,
    --: Device.
    device integer not null,
    --: Where its block starts; addresses are used again.
    address bigint not null,
    --: Segment that it lies in at the end; NULL when it was freed before.
    segment_id bigint,
    --: Size of its block, bytes; NULL when it is not there at the end: the history tells only what was asked for.
    bytes bigint,
    --: What was asked for, bytes.
    requested_bytes bigint not null,
    --: Stream it was allocated for.
    stream bigint,
    --: allocator_event.number of its allocation; NULL when that was before the history.
    event bigint,
    --: When it was allocated, ns; NULL when that was before the history.
    ts bigint,
    --: allocator_event.number of its release; NULL when it was not released in the history.
    event_free bigint,
    --: When it was released, ns.
    ts_free bigint,
    --: allocator_event.number from which its block could be used again; NULL when not in the history.
    event_end bigint,
    --: When its block could be used again, ns.
    ts_end bigint,
    --: Stack that asked for it; NULL when none is known.
    stack_id bigint,
    --: Stack that released it; NULL when none is known.
    free_stack_id bigint,
    --: As allocator_event.compile_context.
    compile_context varchar,
    --: Phase of training in which it was asked for: allocation_stack.phase.
    phase varchar,
    --: parameters (and buffers: asked for where modules are made), gradients, optimizer (its state), activations (asked
    --: for in a forward and kept beyond it), inputs, temporary (released in the phase that asked for it); NULL: cannot
    --: tell, its stack does not say.
    category varchar,
    --: Step it was made in; NULL outside all steps.
    step integer,
    --: Round of forward and backward it was made in, from 0, as the stacks tell; NULL when they do not, and when it was
    --: before the history.
    round bigint,
    --: Whether it is there when most is in use on its device (memory_peak).
    at_peak boolean not null,
    --: Whether it was neither released in the history nor is there at its end: the history is incomplete.
    is_lost boolean not null
);

--: One row per device of a memory snapshot: when most was in use, and what was there at the end.
create table if not exists memory_peak (
    --: Trace.
    trace_id integer not null,
    --: Device.
    device integer not null,
    --: allocator_event.number that reached it first; NULL when it was so before the first event, or nothing was
    --: recorded.
    number bigint,
    --: When, ns; NULL without a history.
    ts bigint,
    --: Most in use, bytes, as torch.cuda._memory_viz draws it: what was asked for, until its block can be used again.
    bytes bigint not null,
    --: What the allocator held then, bytes; NULL when segments and events contradict each other.
    reserved bigint,
    --: The most it held, bytes; NULL as reserved.
    most_reserved bigint,
    --: When it first held that, ns.
    ts_most_reserved bigint,
    --: Allocations made before the history: freed in it, or there at its end.
    older bigint not null,
    --: What they asked for, bytes: in use when the history begins.
    older_bytes bigint not null,
    --: Allocations neither released in the history nor there at its end: more than 0, the history is incomplete.
    lost bigint not null,
    --: What they asked for, bytes.
    lost_bytes bigint not null,
    --: Allocations there at the end.
    at_end bigint not null,
    --: What they asked for, bytes.
    requested_at_end bigint not null,
    --: Their blocks, bytes: what torch.cuda.memory_allocated() said then.
    bytes_at_end bigint not null,
    --: Segments at the end, bytes: what torch.cuda.memory_reserved() said then; NULL without segments.
    reserved_at_end bigint
);
