-- The trace database: base tables, filled by the importers. A public contract: other people's SQL depends on it.
--
-- Times are integer nanoseconds on the trace's own clock, intervals are half-open [ts, ts + dur), sizes are bytes.
-- Every table has trace_id; ids of slices are unique within a trace and the same on every ingest of the same file.
-- No primary keys: an index over tens of millions of slices would cost more memory than the ingest may use.
-- `args` columns are read rarely and repeat themselves a lot: zstd keeps them at a tenth of their size.

create table if not exists traceq_schema (version integer not null);
comment on table traceq_schema is 'One row: the version of the schema of this database.';
comment on column traceq_schema.version is 'Raised with every change that breaks a reader.';

create table if not exists trace (
    trace_id integer not null,
    run varchar,
    path varchar not null,
    sha256 varchar not null,
    size_bytes bigint not null,
    format varchar not null,
    producer varchar,
    producer_version varchar,
    schema_version varchar,
    host varchar,
    rank integer,
    world_size integer,
    utc_origin_ns bigint,
    ts bigint,
    dur bigint,
    ingested_at timestamp not null,
    args varchar using compression zstd,
    utc_zone_ns bigint
);
comment on table trace is 'One row per ingested file.';
comment on column trace.trace_id is 'Number of the trace in this database, from 1 in the order of ingest.';
comment on column trace.run is 'Name of the run the file belongs to, as given by --run; NULL when not given.';
comment on column trace.path is 'Path of the source file as it was given.';
comment on column trace.sha256 is 'Hash of the source file as it lies on disk: the identity of the trace.';
comment on column trace.size_bytes is 'Size of the source file on disk, in bytes.';
comment on column trace.format is 'Format of the source: nsys, chrome, rocm, xplane, operations or memory_snapshot.';
comment on column trace.producer is 'Program that wrote the source: Nsight Systems, PyTorch Profiler, rocprofv3, XProf, PyTorch memory snapshot, ..., or NULL when it does not say.';
comment on column trace.producer_version is 'Version of the producer as it states it; NULL when it does not.';
comment on column trace.schema_version is 'Version of the source''s own schema; NULL when it has none.';
comment on column trace.host is 'Pseudonym of the machine (a hash of its name), so that ranks of one machine can be grouped; NULL when unknown.';
comment on column trace.rank is 'Rank of the process in its distributed job; NULL when the trace does not say. Of a memory snapshot, which never does, that in the name of its file.';
comment on column trace.world_size is 'Number of ranks of the job; NULL when the trace does not say.';
comment on column trace.utc_origin_ns is 'Nanoseconds since the epoch (UTC) at ts = 0; NULL when unknown.';
comment on column trace.ts is 'Start of the first slice of the trace, ns; NULL when the trace has no slices.';
comment on column trace.dur is 'Time from the first start to the last end of any slice, ns, instants of the profiler itself left aside; NULL when the trace has no slices.';
comment on column trace.ingested_at is 'When the trace was ingested (UTC).';
comment on column trace.args is 'JSON: what else the source says of the capture (options, library versions, process groups).';
comment on column trace.utc_zone_ns is 'What local time on the traced machine was ahead of UTC, ns; NULL when the source does not say.';

create table if not exists device (
    trace_id integer not null,
    device integer not null,
    name varchar,
    compute_capability varchar,
    sm_count integer,
    memory_bytes bigint,
    warp_size integer,
    max_threads_per_sm integer,
    max_blocks_per_sm integer,
    registers_per_sm integer,
    shared_memory_per_sm bigint,
    memory_bandwidth bigint,
    source varchar not null
);
comment on table device is 'One row per GPU a trace lists or uses.';
comment on column device.device is 'Device number as the traced process counts (after CUDA_VISIBLE_DEVICES), or as nsys counts where processes count differently (note devices_renumbered); key of gpu_slice.device. -1: not said.';
comment on column device.name is 'Name of the GPU, e.g. NVIDIA H100 80GB HBM3; NULL when the trace does not say.';
comment on column device.compute_capability is 'Compute capability, e.g. 9.0; NULL for other makers'' GPUs or when unknown.';
comment on column device.sm_count is 'Number of streaming multiprocessors (compute units on AMD).';
comment on column device.memory_bytes is 'Device memory, bytes.';
comment on column device.warp_size is 'Threads per warp (64 on AMD''s CDNA).';
comment on column device.max_blocks_per_sm is 'Most resident blocks per multiprocessor; NULL when the trace does not say.';
comment on column device.memory_bandwidth is 'Peak memory bandwidth, bytes per second; NULL when the trace does not say.';
comment on column device.source is 'Where the limits come from: trace, or unknown when the trace uses the device without describing it.';

create table if not exists thread (
    trace_id integer not null,
    thread_id integer not null,
    pid bigint,
    tid bigint,
    process_name varchar,
    thread_name varchar,
    rank integer
);
comment on table thread is 'One row per host thread that did something.';
comment on column thread.thread_id is 'Key of the thread within its trace, from 0 in the order in which the source first names it.';
comment on column thread.pid is 'Process id on the traced machine; NULL when the source names the process by text only.';
comment on column thread.tid is 'Thread id on the traced machine; NULL when the source names the thread by text only.';
comment on column thread.process_name is 'Name of the process, without its path; NULL when unknown.';
comment on column thread.thread_name is 'Name of the thread; NULL when unknown.';
comment on column thread.rank is 'Rank of its process, where the source says it of processes: several may be in one trace; else NULL, and trace.rank tells.';

create table if not exists cpu_slice (
    trace_id integer not null,
    slice_id bigint not null,
    thread_id integer not null,
    kind varchar not null,
    category varchar,
    name varchar not null,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    depth integer,
    parent_id bigint,
    operator_id bigint,
    annotation_id bigint,
    phase_id bigint,
    outer_annotation_id bigint,
    context_id bigint,
    correlation_id bigint,
    external_id bigint,
    args varchar using compression zstd,
    module_id bigint,
    line_id bigint
);
comment on table cpu_slice is 'One row per thing the host did: operator, annotation, API call, Python frame, OS call.';
comment on column cpu_slice.slice_id is 'Key of the slice within its trace, shared with gpu_slice.';
comment on column cpu_slice.thread_id is 'Thread it ran on; see thread.';
comment on column cpu_slice.kind is 'op (PyTorch operator), annotation (NVTX range, record_function, ProfilerStep, mark of traceq.annotate), runtime (CUDA runtime or driver call), python, os (OS runtime call), overhead (the profiler''s own), other.';
comment on column cpu_slice.category is 'Finer class as the source has it: NVTX domain, Chrome category, runtime or driver; NULL when it has none.';
comment on column cpu_slice.name is 'Name; versions and suffixes of API calls (_v7000, _ptsz) removed.';
comment on column cpu_slice.dur is 'Duration, ns; 0 for instants.';
comment on column cpu_slice.depth is 'Number of slices open on the same thread when this one starts; NULL for ranges that need not nest (start/end ranges).';
comment on column cpu_slice.parent_id is 'slice_id of the slice that was opened last of those open on the same thread when this one starts; NULL at depth 0.';
comment on column cpu_slice.operator_id is 'slice_id of the innermost operator that encloses this slice on its thread; NULL when there is none.';
comment on column cpu_slice.annotation_id is 'slice_id of the innermost annotation that encloses this slice on its thread; NULL when there is none.';
comment on column cpu_slice.phase_id is 'Innermost slice around it that names a phase of training (host_name.phase); NULL for none.';
comment on column cpu_slice.outer_annotation_id is 'Outermost annotation around it; NULL for none.';
comment on column cpu_slice.context_id is 'Outermost slice around it that says what the host is busy with (host_name.context): data, checkpoint or compile; NULL for none.';
comment on column cpu_slice.correlation_id is 'For API calls: joins to gpu_slice.correlation_id of the same trace and process.';
comment on column cpu_slice.external_id is 'Id that PyTorch gives an operator and the GPU work it caused.';
comment on column cpu_slice.module_id is 'Innermost frame of an nn.Module around it (PyTorch with with_stack or with_modules); NULL for none.';
comment on column cpu_slice.line_id is 'Innermost Python frame around it that is of a file that is neither PyTorch''s nor one of the standard library that calls what others wrote (threads, decorators); NULL for none.';

create table if not exists host_name (
    trace_id integer not null,
    kind varchar not null,
    name varchar not null,
    context varchar,
    phase varchar,
    activity varchar
);
comment on table host_name is 'One row per kind and name of host slices whose name means something; the list of patterns is traceq/analysis/nesting/host_name.sql.';
comment on column host_name.kind is 'cpu_slice.kind.';
comment on column host_name.name is 'cpu_slice.name.';
comment on column host_name.context is 'data, checkpoint or compile when whatever happens inside such a slice belongs to that; NULL otherwise.';
comment on column host_name.phase is 'data, forward, backward or optimizer when the slice marks that part of a step; NULL otherwise.';
comment on column host_name.activity is 'synchronization, allocation, compile, communication or launch (what a runtime does to run a program) when the name says more than the kind does; NULL otherwise.';

create table if not exists gpu_slice (
    trace_id integer not null,
    slice_id bigint not null,
    device integer not null,
    context bigint,
    stream bigint,
    kind varchar not null,
    name varchar not null,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    pid bigint,
    correlation_id bigint,
    external_id bigint,
    launch_id bigint,
    step integer,
    is_communication boolean not null,
    grid_x integer,
    grid_y integer,
    grid_z integer,
    block_x integer,
    block_y integer,
    block_z integer,
    registers_per_thread integer,
    shared_memory bigint,
    static_shared_memory bigint,
    dynamic_shared_memory bigint,
    graph_id bigint,
    graph_node_id bigint,
    bytes bigint,
    copy_kind varchar,
    src_memory varchar,
    dst_memory varchar,
    src_device integer,
    dst_device integer,
    args varchar using compression zstd
);
comment on table gpu_slice is 'One row per thing a GPU did: kernel, copy, memset, or a CUDA graph traced as a whole.';
comment on column gpu_slice.slice_id is 'Key of the slice within its trace, shared with cpu_slice.';
comment on column gpu_slice.device is 'Device it ran on; see device.';
comment on column gpu_slice.context is 'CUDA context; NULL when the source does not say.';
comment on column gpu_slice.stream is 'CUDA stream; NULL when the source does not say.';
comment on column gpu_slice.kind is 'kernel, memcpy, memset, or graph (a CUDA graph launch whose kernels were not traced one by one).';
comment on column gpu_slice.name is 'Demangled kernel name; copies and memsets are named as PyTorch names them, e.g. Memcpy HtoD (Pinned -> Device).';
comment on column gpu_slice.ts is 'Start on the device, ns.';
comment on column gpu_slice.dur is 'Duration on the device, ns.';
comment on column gpu_slice.ts_end is 'End on the device, ns: ts + dur.';
comment on column gpu_slice.pid is 'Process that launched it; NULL when the source does not say.';
comment on column gpu_slice.correlation_id is 'Joins to the launching call''s cpu_slice.correlation_id, within trace and process only.';
comment on column gpu_slice.external_id is 'External id of the operator that caused it, where PyTorch links them.';
comment on column gpu_slice.launch_id is 'slice_id of the call that launched it; NULL when that call is not in the trace.';
comment on column gpu_slice.step is 'Step whose launch it came from (by its own start when the launch is not in the trace); NULL outside all steps.';
comment on column gpu_slice.is_communication is 'Whether it belongs to a collective or point-to-point transfer; by the metadata of the source, the range it was launched in, or its name (docs/metrics.md).';
comment on column gpu_slice.grid_x is 'Blocks in x.';
comment on column gpu_slice.grid_y is 'Blocks in y.';
comment on column gpu_slice.grid_z is 'Blocks in z.';
comment on column gpu_slice.block_x is 'Threads per block in x.';
comment on column gpu_slice.block_y is 'Threads per block in y.';
comment on column gpu_slice.block_z is 'Threads per block in z.';
comment on column gpu_slice.registers_per_thread is 'Registers per thread.';
comment on column gpu_slice.shared_memory is 'Static and dynamic shared memory per block together, bytes.';
comment on column gpu_slice.static_shared_memory is 'Static shared memory per block, bytes; NULL when the source gives the sum only.';
comment on column gpu_slice.dynamic_shared_memory is 'Dynamic shared memory per block, bytes; NULL when the source gives the sum only.';
comment on column gpu_slice.graph_id is 'CUDA graph it belongs to; NULL outside graphs.';
comment on column gpu_slice.graph_node_id is 'Node of that graph; NULL outside graphs.';
comment on column gpu_slice.bytes is 'Bytes copied or set.';
comment on column gpu_slice.copy_kind is 'h2d, d2h, d2d, p2p, h2h or um (unified-memory migration); NULL for kernels and memsets.';
comment on column gpu_slice.src_memory is 'Memory copied from: pageable, pinned, device, array, managed, device_static, managed_static; NULL when unknown.';
comment on column gpu_slice.dst_memory is 'Memory copied to, or set; values as in src_memory.';
comment on column gpu_slice.src_device is 'Device copied from, for copies between devices.';
comment on column gpu_slice.dst_device is 'Device copied to, for copies between devices.';

create table if not exists gpu_annotation (
    trace_id integer not null,
    slice_id bigint not null,
    device integer not null,
    stream bigint,
    name varchar not null,
    ts bigint not null,
    dur bigint not null,
    external_id bigint
);
comment on table gpu_annotation is 'One row per user annotation as the source itself projected it onto a stream: spans from the first to the last GPU slice launched inside it, gaps included, so it is not GPU activity.';
comment on column gpu_annotation.slice_id is 'Key of the row within its trace, from the same sequence as slices.';
comment on column gpu_annotation.stream is 'Stream.';
comment on column gpu_annotation.name is 'Name of the annotation.';
comment on column gpu_annotation.external_id is 'External id of the host annotation it projects.';

create table if not exists synchronization (
    trace_id integer not null,
    slice_id bigint not null,
    kind varchar not null,
    device integer,
    context bigint,
    stream bigint,
    ts bigint not null,
    dur bigint not null,
    pid bigint,
    correlation_id bigint,
    event_id bigint,
    event_sync_id bigint,
    wait_on_stream bigint,
    wait_on_correlation_id bigint
);
comment on table synchronization is 'One row per synchronization the profiler recorded as such (its call is in cpu_slice).';
comment on column synchronization.slice_id is 'Key of the row within its trace, from the same sequence as slices.';
comment on column synchronization.kind is 'event, stream_wait_event, stream, context, or unknown.';
comment on column synchronization.stream is 'Stream that waits or is waited for; NULL when it concerns none.';
comment on column synchronization.correlation_id is 'Joins to the API call''s cpu_slice.correlation_id.';
comment on column synchronization.event_id is 'CUDA event waited for; handles are reused.';
comment on column synchronization.event_sync_id is 'Id of that recording of the event (nsys from 2026), which is unique; joins to cuda_event.event_sync_id.';
comment on column synchronization.wait_on_stream is 'Stream on which the event waited for was recorded.';
comment on column synchronization.wait_on_correlation_id is 'correlation_id of the cudaEventRecord call of the event waited for.';

create table if not exists cuda_event (
    trace_id integer not null,
    slice_id bigint not null,
    device integer,
    context bigint,
    stream bigint,
    ts bigint,
    pid bigint,
    correlation_id bigint,
    event_id bigint,
    event_sync_id bigint
);
comment on table cuda_event is 'One row per recording of a CUDA event.';
comment on column cuda_event.slice_id is 'Key of the row within its trace, from the same sequence as slices.';
comment on column cuda_event.stream is 'Stream it was recorded on.';
comment on column cuda_event.ts is 'When the device reached it, ns; NULL when the source does not say.';
comment on column cuda_event.correlation_id is 'Joins to the recording call''s cpu_slice.correlation_id.';
comment on column cuda_event.event_id is 'CUDA event; handles are reused.';
comment on column cuda_event.event_sync_id is 'Unique id of this recording (nsys from 2026).';

create table if not exists collective (
    trace_id integer not null,
    slice_id bigint not null,
    op varchar not null,
    bytes bigint,
    dtype varchar,
    in_elements bigint,
    out_elements bigint,
    group_name varchar,
    group_size integer,
    sequence bigint,
    args varchar using compression zstd,
    group_rank integer,
    reduction varchar
);
comment on table collective is 'One row per communication operation the source describes.';
comment on column collective.slice_id is 'The gpu_slice that carried it out, else the cpu_slice that asked for it.';
comment on column collective.op is 'Name of the operation as the source has it, e.g. allreduce, _allgather_base.';
comment on column collective.bytes is 'Message size: the larger of the input and output elements, times the size of the type; NULL when unknown.';
comment on column collective.dtype is 'Element type as the source has it.';
comment on column collective.in_elements is 'Elements of the input on this rank.';
comment on column collective.out_elements is 'Elements of the output on this rank.';
comment on column collective.group_name is 'Process group; where it has no name, what the source tells groups of this rank apart by (an address, a communicator''s id).';
comment on column collective.sequence is 'Number of the operation within its group, the same on all its ranks; NULL when the source does not say, and the first of the group is not in the trace.';
comment on column collective.args is 'JSON: what else the source says (ranks, splits, peers, description of the group).';
comment on column collective.group_rank is 'Rank of this process in the process group; NULL when the source does not say.';
comment on column collective.reduction is 'How it reduces, as the source has it, e.g. Sum, Avg; NULL of operations that do not, and when the source does not say.';

create table if not exists counter (
    trace_id integer not null,
    device integer,
    name varchar not null,
    unit varchar,
    ts bigint not null,
    value double not null,
    instance varchar,
    log_id integer
);
comment on table counter is 'One row per sample of a time series, of the trace itself and of the logs of monitors beside it (log_id).';
comment on column counter.device is 'Device the sample is of; NULL for the host.';
comment on column counter.name is 'Name of the series, e.g. memory_allocated, SMs Active [Throughput %]; of logs a name that tools have in common (gpu_power, disk_utilization; docs/monitors.md lists them), or the tool''s own after the tool (sar:memory.dirty).';
comment on column counter.unit is 'Unit of value: bytes, percent, ...; NULL when the source does not say.';
comment on column counter.ts is 'When the sample was taken, ns; of a mean over an interval, its end.';
comment on column counter.value is 'The sample.';
comment on column counter.instance is 'What of the host the sample is of: a disk, a network interface, one CPU, a process (pid and command); NULL for all of it, and for GPUs.';
comment on column counter.log_id is 'Log the sample is from; see monitor_log. NULL for samples in the trace itself.';

create table if not exists monitor_log (
    trace_id integer not null,
    log_id integer not null,
    path varchar not null,
    tool varchar not null,
    samples bigint not null,
    kept bigint not null,
    clock varchar not null,
    placed_by varchar,
    zone_ns bigint,
    offset_ns bigint,
    residual_ns bigint,
    correlation double,
    text varchar not null
);
comment on table monitor_log is 'One row per log of a monitor (nvidia-smi, iostat, ...) that was given with the trace, or lay beside it.';
comment on column monitor_log.log_id is 'Number of the log within its trace, from 0; key of counter.log_id.';
comment on column monitor_log.path is 'Path of the log as it was given.';
comment on column monitor_log.tool is 'What wrote it: nvidia-smi, nvidia-smi dmon, dcgmi dmon, Prometheus exporter, Prometheus range, amd-smi, iostat, sar, vmstat, pidstat, traceq record.';
comment on column monitor_log.samples is 'Samples in it.';
comment on column monitor_log.kept is 'Rows of counter that came of it; 0 where it could not be placed.';
comment on column monitor_log.clock is 'Its times: utc, local (of a zone that it does not name) or none.';
comment on column monitor_log.placed_by is 'What tells where it lies on the clock of the trace: utc, zone (that of the trace, of another log, or the only one that fits), load (that of the GPU), offset (the user); NULL where it cannot be told.';
comment on column monitor_log.zone_ns is 'What its local times are ahead of UTC, ns; NULL where they are UTC, and where it is not known.';
comment on column monitor_log.offset_ns is 'What was added to its times as they read, since 1970, to have them on the clock of the trace, ns; NULL where it is not placed.';
comment on column monitor_log.residual_ns is 'How much later (ns) than where it was placed the load of the GPU fits best; NULL where the load does not tell.';
comment on column monitor_log.correlation is 'Correlation of the utilization in the log with the busy share of the trace there; NULL as above.';
comment on column monitor_log.text is 'The same in words, with what to do where it is not placed.';

create table if not exists made_with (
    trace_id integer not null,
    topic varchar not null,
    instance integer not null,
    name varchar not null,
    value varchar not null,
    unit varchar,
    is_knob boolean not null
);
comment on table made_with is 'One row per fact and knob of the run, as the snapshot says that traceq record or traceq.profile wrote beside the trace; no rows without one. What could not be known has no row.';
comment on column made_with.topic is 'host, gpu, software (versions of what was imported), precision, threads, loader, optimizer, compile, parallel, program or environment (variables whose value may be shown).';
comment on column made_with.instance is 'Number of the thing within its topic, from 0: GPUs as the process counts them, loaders with the one first from which the window fetched most, optimizers with that of most parameters first; 0 where there is one.';
comment on column made_with.name is 'What it is: num_workers, batch_size, driver, OMP_NUM_THREADS, ...; a name belongs to one topic.';
comment on column made_with.value is 'Its value as text: a number, true or false, default (left to PyTorch), off, a version or a word.';
comment on column made_with.unit is 'Unit of a number: bytes, MHz, W or CPUs; NULL for counts and for what is no number.';
comment on column made_with.is_knob is 'Whether it is a knob, which a user sets for a run; false for what the machine and its software are.';

create table if not exists page_fault (
    trace_id integer not null,
    processor varchar not null,
    device integer,
    pid bigint,
    ts bigint not null,
    dur bigint,
    faults bigint not null,
    access varchar,
    function varchar
);
comment on table page_fault is 'One row per page fault of the CPU, or group of page faults of a GPU on one page, on unified memory; addresses are not kept.';
comment on column page_fault.processor is 'What faulted: cpu or gpu.';
comment on column page_fault.device is 'Device that faulted; NULL for the CPU.';
comment on column page_fault.dur is 'Until the fault was served, ns; NULL for the CPU, of whose faults only the start is recorded.';
comment on column page_fault.faults is 'Faults of the group; 1 for the CPU.';
comment on column page_fault.access is 'read, write, atomic or prefetch; NULL when unknown.';
comment on column page_fault.function is 'Function whose instruction faulted, on the CPU; NULL when unknown.';

create table if not exists graph_node (
    trace_id integer not null,
    pid bigint,
    graph_node_id bigint not null,
    original_node_id bigint,
    thread_id integer not null,
    ts bigint not null,
    name varchar
);
comment on table graph_node is 'One row per node of a CUDA graph that was made, or copied from another, while nsys recorded: where the host was then.';
comment on column graph_node.pid is 'Process, in which ids of nodes are unique; NULL when the source does not say.';
comment on column graph_node.graph_node_id is 'Node; see gpu_slice.graph_node_id.';
comment on column graph_node.original_node_id is 'Node that it is a copy of, as those of a graph that is made ready to run are; NULL for one that was captured.';
comment on column graph_node.thread_id is 'Thread that made it.';
comment on column graph_node.ts is 'When, ns.';
comment on column graph_node.name is 'Call that made it; NULL when unknown.';

create table if not exists file_access (
    trace_id integer not null,
    thread_id integer not null,
    ts bigint not null,
    dur bigint,
    operation varchar,
    function varchar,
    bytes bigint,
    path varchar
);
comment on table file_access is 'One row per access to a file that nsys recorded; the call itself is in cpu_slice, too, where calls of the system were traced.';
comment on column file_access.dur is 'Duration, ns; NULL when the source has no usable end.';
comment on column file_access.operation is 'open, close, read or write; NULL when unknown.';
comment on column file_access.function is 'Function that was called; NULL when unknown.';
comment on column file_access.bytes is 'Bytes read or written; NULL when unknown.';
comment on column file_access.path is 'File; NULL when unknown.';

create table if not exists thread_state (
    trace_id integer not null,
    thread_id integer not null,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    on_cpu boolean not null,
    cpu integer,
    reason varchar
);
comment on table thread_state is 'One row per time for which a thread was on a CPU, or off all of them, as the scheduler had it; of threads of which something else was recorded, too.';
comment on column thread_state.dur is 'Until the thread was switched next, ns; after its last switch to the end of the last of any thread.';
comment on column thread_state.on_cpu is 'Whether it was on a CPU.';
comment on column thread_state.cpu is 'CPU it was on, or left.';
comment on column thread_state.reason is 'Why it was off: preempted, waiting, page_fault, stopped or ended; NULL when on, and when the source does not say, as on Linux.';

create table if not exists cpu_sample (
    trace_id integer not null,
    thread_id integer not null,
    ts bigint not null,
    symbol varchar,
    module varchar,
    caller varchar
);
comment on table cpu_sample is 'One row per sample of what a thread executed, taken at a rate while it was on a CPU; of threads of which something else was recorded, too.';
comment on column cpu_sample.ts is 'When it was taken, ns.';
comment on column cpu_sample.symbol is 'Innermost function whose name is known; NULL for none.';
comment on column cpu_sample.module is 'File of the innermost function, without its folders; NULL when unknown.';
comment on column cpu_sample.caller is 'Innermost function of the program itself: neither of the C and C++ libraries, the interpreter, drivers, nor of the standard library compiled into it; NULL for none.';

create table if not exists import_note (
    trace_id integer not null,
    severity varchar not null,
    code varchar not null,
    count bigint not null,
    text varchar not null
);
comment on table import_note is 'One row per kind of oddity met while reading a trace.';
comment on column import_note.severity is 'info (nothing lost), data_loss (something in the file is not in the tables), error (the capture itself is incomplete or wrong).';
comment on column import_note.code is 'Short stable name of the oddity, e.g. truncated, not_a_number.';
comment on column import_note.count is 'How many times it was met.';
comment on column import_note.text is 'What it means, and what to do about it.';

create table if not exists allocator_event (
    trace_id integer not null,
    device integer not null,
    number bigint not null,
    action varchar not null,
    ts bigint,
    address bigint,
    bytes bigint not null,
    device_free bigint,
    stream bigint,
    stack_id bigint,
    compile_context varchar
);
comment on table allocator_event is 'One row per entry in the history of PyTorch''s caching allocator, as a memory snapshot has it: in its order, which times of one microsecond do not tell.';
comment on column allocator_event.number is 'Place in the history of its device, from 0; what was there before is lost where the history was full (max_entries).';
comment on column allocator_event.action is 'alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, segment_unmap, oom or snapshot.';
comment on column allocator_event.ts is 'When, ns; the source has microseconds. NULL of snapshots of PyTorch 2.0 and older: only the order is known.';
comment on column allocator_event.address is 'Address of the block or segment; NULL of oom.';
comment on column allocator_event.bytes is 'Size of the segment; of a tensor what was asked for, which its block can exceed.';
comment on column allocator_event.device_free is 'What the device had left when memory ran out, bytes; NULL of other actions.';
comment on column allocator_event.stream is 'Stream, as the source numbers it.';
comment on column allocator_event.stack_id is 'Stack that did it; NULL when none was recorded.';
comment on column allocator_event.compile_context is 'What torch.compile was doing, as the source has it; NULL mostly.';

create table if not exists allocator_segment (
    trace_id integer not null,
    segment_id bigint not null,
    device integer not null,
    address bigint not null,
    bytes bigint not null,
    allocated_bytes bigint,
    active_bytes bigint,
    requested_bytes bigint,
    stream bigint,
    kind varchar,
    pool varchar,
    is_expandable boolean not null,
    stack_id bigint
);
comment on table allocator_segment is 'One row per segment that the caching allocator held of a device when the snapshot was taken.';
comment on column allocator_segment.segment_id is 'Key of the segment within its trace.';
comment on column allocator_segment.allocated_bytes is 'Blocks of it that tensors used, bytes, as the source says.';
comment on column allocator_segment.active_bytes is 'The same with blocks that wait for another stream before they can be used again, bytes.';
comment on column allocator_segment.requested_bytes is 'What was asked for in these, bytes.';
comment on column allocator_segment.stream is 'Stream that its blocks are for.';
comment on column allocator_segment.kind is 'small (blocks of at most 1 MiB) or large; NULL when the source does not say.';
comment on column allocator_segment.pool is 'Id of its memory pool; 0.0 is the usual one, others belong to CUDA graphs and to pools of the program.';
comment on column allocator_segment.is_expandable is 'Whether it can grow (expandable_segments).';

create table if not exists allocator_block (
    trace_id integer not null,
    segment_id bigint not null,
    number bigint not null,
    address bigint not null,
    bytes bigint not null,
    requested_bytes bigint,
    state varchar not null,
    stack_id bigint
);
comment on table allocator_block is 'One row per block of a segment when the snapshot was taken.';
comment on column allocator_block.segment_id is 'Segment it is a part of.';
comment on column allocator_block.number is 'Place in the segment, from 0.';
comment on column allocator_block.requested_bytes is 'What was asked for, bytes; of an inactive block what was asked for last.';
comment on column allocator_block.state is 'active_allocated (a tensor uses it), active_awaiting_free (another stream may still use it) or inactive.';

create table if not exists allocator_stack (
    trace_id integer not null,
    stack_id bigint not null,
    depth integer not null,
    name varchar not null,
    file varchar not null,
    line bigint not null
);
comment on table allocator_stack is 'One row per frame of each distinct stack of a memory snapshot.';
comment on column allocator_stack.stack_id is 'Key of the stack within its trace.';
comment on column allocator_stack.depth is 'Place of the frame, 0 the innermost.';
comment on column allocator_stack.name is 'Function.';
comment on column allocator_stack.file is 'File; ?? or empty of C++ functions without debug information.';
comment on column allocator_stack.line is 'Line; 0 when unknown.';
