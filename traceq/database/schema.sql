-- The trace database: base tables, filled by the importers. A public contract: other people's SQL depends on it.
--
-- Times are integer nanoseconds on the trace's own clock, intervals are half-open [ts, ts + dur), sizes are bytes.
-- Every table has trace_id; ids of slices are unique within a trace and the same on every ingest of the same file.
-- No primary keys: an index over tens of millions of slices would cost more memory than the ingest may use.
-- `args` columns are read rarely and repeat themselves a lot: zstd keeps them at a tenth of their size.

--: One row: the version of the schema of this database.
create table if not exists traceq_schema (
--: Raised with every change that breaks a reader.
version integer not null);

--: One row per ingested file.
create table if not exists trace (
    --: Number of the trace in this database, from 1 in the order of ingest.
    trace_id integer not null,
    --: Name of the run the file belongs to, as given by --run; NULL when not given.
    run varchar,
    --: Path of the source file as it was given.
    path varchar not null,
    --: Hash of the source file as it lies on disk: the identity of the trace.
    sha256 varchar not null,
    --: Size of the source file on disk, in bytes.
    size_bytes bigint not null,
    --: Format of the source: nsys, chrome, rocm, xplane, operations or memory_snapshot.
    format varchar not null,
    --: Program that wrote the source: Nsight Systems, PyTorch Profiler, rocprofv3, XProf, PyTorch memory snapshot, ...,
    --: or NULL when it does not say.
    producer varchar,
    --: Version of the producer as it states it; NULL when it does not.
    producer_version varchar,
    --: Version of the source's own schema; NULL when it has none.
    schema_version varchar,
    --: Pseudonym of the machine (a hash of its name), so that ranks of one machine can be grouped; NULL when unknown.
    host varchar,
    --: Rank of the process in its distributed job; NULL when the trace does not say. Of a memory snapshot, which never
    --: does, that in the name of its file.
    rank integer,
    --: Number of ranks of the job; NULL when the trace does not say.
    world_size integer,
    --: Nanoseconds since the epoch (UTC) at ts = 0; NULL when unknown.
    utc_origin_ns bigint,
    --: Start of the first slice of the trace, ns; NULL when the trace has no slices.
    ts bigint,
    --: Time from the first start to the last end of any slice, ns, instants of the profiler itself left aside; NULL
    --: when the trace has no slices.
    dur bigint,
    --: When the trace was ingested (UTC).
    ingested_at timestamp not null,
    --: JSON: what else the source says of the capture (options, library versions, process groups).
    args varchar using compression zstd,
    --: What local time on the traced machine was ahead of UTC, ns; NULL when the source does not say.
    utc_zone_ns bigint
);

--: One row per GPU a trace lists or uses.
create table if not exists device (
    --: Trace.
    trace_id integer not null,
    --: Device number as the traced process counts (after CUDA_VISIBLE_DEVICES), or as nsys counts where processes count
    --: differently (note devices_renumbered); key of gpu_slice.device. -1: not said.
    device integer not null,
    --: Name of the GPU, e.g. NVIDIA H100 80GB HBM3; NULL when the trace does not say.
    name varchar,
    --: Compute capability, e.g. 9.0; NULL for other makers' GPUs or when unknown.
    compute_capability varchar,
    --: Number of streaming multiprocessors (compute units on AMD).
    sm_count integer,
    --: Device memory, bytes.
    memory_bytes bigint,
    --: Threads per warp (64 on AMD's CDNA).
    warp_size integer,
    --: Most resident threads per multiprocessor.
    max_threads_per_sm integer,
    --: Most resident blocks per multiprocessor; NULL when the trace does not say.
    max_blocks_per_sm integer,
    --: 32-bit registers per multiprocessor.
    registers_per_sm integer,
    --: Shared memory per multiprocessor, bytes.
    shared_memory_per_sm bigint,
    --: Peak memory bandwidth, bytes per second; NULL when the trace does not say.
    memory_bandwidth bigint,
    --: Where the limits come from: trace, or unknown when the trace uses the device without describing it.
    source varchar not null
);

--: One row per host thread that did something.
create table if not exists thread (
    --: Trace.
    trace_id integer not null,
    --: Key of the thread within its trace, from 0 in the order in which the source first names it.
    thread_id integer not null,
    --: Process id on the traced machine; NULL when the source names the process by text only.
    pid bigint,
    --: Thread id on the traced machine; NULL when the source names the thread by text only.
    tid bigint,
    --: Name of the process, without its path; NULL when unknown.
    process_name varchar,
    --: Name of the thread; NULL when unknown.
    thread_name varchar,
    --: Rank of its process, where the source says it of processes: several may be in one trace; else NULL, and
    --: trace.rank tells.
    rank integer
);

--: One row per thing the host did: operator, annotation, API call, Python frame, OS call.
create table if not exists cpu_slice (
    --: Trace.
    trace_id integer not null,
    --: Key of the slice within its trace, shared with gpu_slice.
    slice_id bigint not null,
    --: Thread it ran on; see thread.
    thread_id integer not null,
    --: op (PyTorch operator), annotation (NVTX range, record_function, ProfilerStep, mark of traceq.annotate), runtime
    --: (CUDA runtime or driver call), python, os (OS runtime call), overhead (the profiler's own), other.
    kind varchar not null,
    --: Finer class as the source has it: NVTX domain, Chrome category, runtime or driver; NULL when it has none.
    category varchar,
    --: Name; versions and suffixes of API calls (_v7000, _ptsz) removed.
    name varchar not null,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns; 0 for instants.
    dur bigint not null,
    --: End, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: Number of slices open on the same thread when this one starts; NULL for ranges that need not nest (start/end
    --: ranges).
    depth integer,
    --: slice_id of the slice that was opened last of those open on the same thread when this one starts; NULL at depth
    --: 0.
    parent_id bigint,
    --: slice_id of the innermost operator that encloses this slice on its thread; NULL when there is none.
    operator_id bigint,
    --: slice_id of the innermost annotation that encloses this slice on its thread; NULL when there is none.
    annotation_id bigint,
    --: Innermost slice around it that names a phase of training (host_name.phase); NULL for none.
    phase_id bigint,
    --: Outermost annotation around it; NULL for none.
    outer_annotation_id bigint,
    --: Outermost slice around it that says what the host is busy with (host_name.context): data, checkpoint or compile;
    --: NULL for none.
    context_id bigint,
    --: For API calls: joins to gpu_slice.correlation_id of the same trace and process.
    correlation_id bigint,
    --: Id that PyTorch gives an operator and the GPU work it caused.
    external_id bigint,
    --: JSON: what the source says of the slice and no column holds.
    args varchar using compression zstd,
    --: Innermost frame of an nn.Module around it (PyTorch with with_stack or with_modules); NULL for none.
    module_id bigint,
    --: Innermost Python frame around it that is of a file that is neither PyTorch's nor one of the standard library
    --: that calls what others wrote (threads, decorators); NULL for none.
    line_id bigint
);

--: One row per kind and name of host slices whose name means something; the list of patterns is
--: traceq/analysis/nesting/host_name.sql.
create table if not exists host_name (
    --: Trace.
    trace_id integer not null,
    --: cpu_slice.kind.
    kind varchar not null,
    --: cpu_slice.name.
    name varchar not null,
    --: data, checkpoint or compile when whatever happens inside such a slice belongs to that; NULL otherwise.
    context varchar,
    --: data, forward, backward or optimizer when the slice marks that part of a step; NULL otherwise.
    phase varchar,
    --: synchronization, allocation, compile, communication or launch (what a runtime does to run a program) when the
    --: name says more than the kind does; NULL otherwise.
    activity varchar
);

--: One row per thing a GPU did: kernel, copy, memset, or a CUDA graph traced as a whole.
create table if not exists gpu_slice (
    --: Trace.
    trace_id integer not null,
    --: Key of the slice within its trace, shared with cpu_slice.
    slice_id bigint not null,
    --: Device it ran on; see device.
    device integer not null,
    --: CUDA context; NULL when the source does not say.
    context bigint,
    --: CUDA stream; NULL when the source does not say.
    stream bigint,
    --: kernel, memcpy, memset, or graph (a CUDA graph launch whose kernels were not traced one by one).
    kind varchar not null,
    --: Demangled kernel name; copies and memsets are named as PyTorch names them, e.g. Memcpy HtoD (Pinned -> Device).
    name varchar not null,
    --: Start on the device, ns.
    ts bigint not null,
    --: Duration on the device, ns.
    dur bigint not null,
    --: End on the device, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: Process that launched it; NULL when the source does not say.
    pid bigint,
    --: Joins to the launching call's cpu_slice.correlation_id, within trace and process only.
    correlation_id bigint,
    --: External id of the operator that caused it, where PyTorch links them.
    external_id bigint,
    --: slice_id of the call that launched it; NULL when that call is not in the trace.
    launch_id bigint,
    --: Step whose launch it came from (by its own start when the launch is not in the trace); NULL outside all steps.
    step integer,
    --: Whether it belongs to a collective or point-to-point transfer; by the metadata of the source, the range it was
    --: launched in, or its name (docs/metrics.md).
    is_communication boolean not null,
    --: Blocks in x.
    grid_x integer,
    --: Blocks in y.
    grid_y integer,
    --: Blocks in z.
    grid_z integer,
    --: Threads per block in x.
    block_x integer,
    --: Threads per block in y.
    block_y integer,
    --: Threads per block in z.
    block_z integer,
    --: Registers per thread.
    registers_per_thread integer,
    --: Static and dynamic shared memory per block together, bytes.
    shared_memory bigint,
    --: Static shared memory per block, bytes; NULL when the source gives the sum only.
    static_shared_memory bigint,
    --: Dynamic shared memory per block, bytes; NULL when the source gives the sum only.
    dynamic_shared_memory bigint,
    --: CUDA graph it belongs to; NULL outside graphs.
    graph_id bigint,
    --: Node of that graph; NULL outside graphs.
    graph_node_id bigint,
    --: Bytes copied or set.
    bytes bigint,
    --: h2d, d2h, d2d, p2p, h2h or um (unified-memory migration); NULL for kernels and memsets.
    copy_kind varchar,
    --: Memory copied from: pageable, pinned, device, array, managed, device_static, managed_static; NULL when unknown.
    src_memory varchar,
    --: Memory copied to, or set; values as in src_memory.
    dst_memory varchar,
    --: Device copied from, for copies between devices.
    src_device integer,
    --: Device copied to, for copies between devices.
    dst_device integer,
    --: JSON: what the source says of the slice and no column holds.
    args varchar using compression zstd
);

--: One row per user annotation as the source itself projected it onto a stream: spans from the first to the last GPU
--: slice launched inside it, gaps included, so it is not GPU activity.
create table if not exists gpu_annotation (
    --: Trace.
    trace_id integer not null,
    --: Key of the row within its trace, from the same sequence as slices.
    slice_id bigint not null,
    --: Device.
    device integer not null,
    --: Stream.
    stream bigint,
    --: Name of the annotation.
    name varchar not null,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: External id of the host annotation it projects.
    external_id bigint
);

--: One row per synchronization the profiler recorded as such (its call is in cpu_slice).
create table if not exists synchronization (
    --: Trace.
    trace_id integer not null,
    --: Key of the row within its trace, from the same sequence as slices.
    slice_id bigint not null,
    --: event, stream_wait_event, stream, context, or unknown.
    kind varchar not null,
    --: Device.
    device integer,
    --: CUDA context.
    context bigint,
    --: Stream that waits or is waited for; NULL when it concerns none.
    stream bigint,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: Process; NULL when the source does not say.
    pid bigint,
    --: Joins to the API call's cpu_slice.correlation_id.
    correlation_id bigint,
    --: CUDA event waited for; handles are reused.
    event_id bigint,
    --: Id of that recording of the event (nsys from 2026), which is unique; joins to cuda_event.event_sync_id.
    event_sync_id bigint,
    --: Stream on which the event waited for was recorded.
    wait_on_stream bigint,
    --: correlation_id of the cudaEventRecord call of the event waited for.
    wait_on_correlation_id bigint
);

--: One row per recording of a CUDA event.
create table if not exists cuda_event (
    --: Trace.
    trace_id integer not null,
    --: Key of the row within its trace, from the same sequence as slices.
    slice_id bigint not null,
    --: Device.
    device integer,
    --: CUDA context.
    context bigint,
    --: Stream it was recorded on.
    stream bigint,
    --: When the device reached it, ns; NULL when the source does not say.
    ts bigint,
    --: Process; NULL when the source does not say.
    pid bigint,
    --: Joins to the recording call's cpu_slice.correlation_id.
    correlation_id bigint,
    --: CUDA event; handles are reused.
    event_id bigint,
    --: Unique id of this recording (nsys from 2026).
    event_sync_id bigint
);

--: One row per communication operation the source describes.
create table if not exists collective (
    --: Trace.
    trace_id integer not null,
    --: The gpu_slice that carried it out, else the cpu_slice that asked for it.
    slice_id bigint not null,
    --: Name of the operation as the source has it, e.g. allreduce, _allgather_base.
    op varchar not null,
    --: Message size: the larger of the input and output elements, times the size of the type; NULL when unknown.
    bytes bigint,
    --: Element type as the source has it.
    dtype varchar,
    --: Elements of the input on this rank.
    in_elements bigint,
    --: Elements of the output on this rank.
    out_elements bigint,
    --: Process group; where it has no name, what the source tells groups of this rank apart by (an address, a
    --: communicator's id).
    group_name varchar,
    --: Ranks in the process group.
    group_size integer,
    --: Number of the operation within its group, the same on all its ranks; NULL when the source does not say, and the
    --: first of the group is not in the trace.
    sequence bigint,
    --: JSON: what else the source says (ranks, splits, peers, description of the group).
    args varchar using compression zstd,
    --: Rank of this process in the process group; NULL when the source does not say.
    group_rank integer,
    --: How it reduces, as the source has it, e.g. Sum, Avg; NULL of operations that do not, and when the source does
    --: not say.
    reduction varchar
);

--: One row per sample of a time series, of the trace itself and of the logs of monitors beside it (log_id).
create table if not exists counter (
    --: Trace.
    trace_id integer not null,
    --: Device the sample is of; NULL for the host.
    device integer,
    --: Name of the series, e.g. memory_allocated, SMs Active [Throughput %]; of logs a name that tools have in common
    --: (gpu_power, disk_utilization; docs/monitors.md lists them), or the tool's own after the tool (sar:memory.dirty).
    name varchar not null,
    --: Unit of value: bytes, percent, ...; NULL when the source does not say.
    unit varchar,
    --: When the sample was taken, ns; of a mean over an interval, its end.
    ts bigint not null,
    --: The sample.
    value double not null,
    --: What of the host the sample is of: a disk, a network interface, one CPU, a process (pid and command), with nsys a
    --: network card or a switch, and its port; NULL for all of it, and for GPUs.
    instance varchar,
    --: Log the sample is from; see monitor_log. NULL for samples in the trace itself.
    log_id integer
);

--: One row per log of a monitor (nvidia-smi, iostat, ...) that was given with the trace, or lay beside it.
create table if not exists monitor_log (
    --: Trace.
    trace_id integer not null,
    --: Number of the log within its trace, from 0; key of counter.log_id.
    log_id integer not null,
    --: Path of the log as it was given.
    path varchar not null,
    --: What wrote it: nvidia-smi, nvidia-smi dmon, dcgmi dmon, Prometheus exporter, Prometheus range, amd-smi, iostat,
    --: sar, vmstat, pidstat, traceq record.
    tool varchar not null,
    --: Samples in it.
    samples bigint not null,
    --: Rows of counter that came of it; 0 where it could not be placed.
    kept bigint not null,
    --: Its times: utc, local (of a zone that it does not name) or none.
    clock varchar not null,
    --: What tells where it lies on the clock of the trace: utc, zone (that of the trace, of another log, or the only
    --: one that fits), load (that of the GPU), offset (the user); NULL where it cannot be told.
    placed_by varchar,
    --: What its local times are ahead of UTC, ns; NULL where they are UTC, and where it is not known.
    zone_ns bigint,
    --: What was added to its times as they read, since 1970, to have them on the clock of the trace, ns; NULL where it
    --: is not placed.
    offset_ns bigint,
    --: How much later (ns) than where it was placed the load of the GPU fits best; NULL where the load does not tell.
    residual_ns bigint,
    --: Correlation of the utilization in the log with the busy share of the trace there; NULL as above.
    correlation double,
    --: The same in words, with what to do where it is not placed.
    text varchar not null
);

--: One row per training log that was given. A run without a trace has trace_id 0.
create table if not exists run_log (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Number of the log within its trace, from 0.
    log_id integer not null,
    --: Name of the file, without its folder.
    file varchar not null,
    --: What wrote it: megatron, torchtitan, deepspeed, hugging_face, nemo, lightning, trainer_state, json_lines, wandb,
    --: tensorboard, or the name in the file of --log-format.
    format varchar not null,
    --: Its times: utc, local (of a zone that it does not name) or none.
    clock varchar not null,
    --: What to add to its times to have them since 1970 in UTC, ns; NULL where it is not known.
    shift bigint,
    --: Its first time, ns since 1970 as its own clock reads; NULL without times.
    first_at bigint,
    --: Its last time, as first_at.
    last_at bigint,
    --: GPUs (processes) of the job; NULL where it does not say.
    gpus bigint,
    --: Rank of the process that wrote it; NULL where it does not say.
    rank bigint,
    --: Lines or records in it.
    lines bigint not null,
    --: Of these, those that look like the format's and could not be read.
    lines_left_out bigint not null,
    --: What places the trace among its steps: clock or step_number; NULL where it is not placed.
    placed_by varchar,
    --: How it is placed, or why not, in words.
    reason varchar
);

--: One row per number that a training log says.
create table if not exists run_value (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see run_log.
    log_id integer not null,
    --: Line or record of the file, from 1.
    line bigint not null,
    --: Attempt, from 1; see run_step. NULL without a step.
    attempt bigint,
    --: Number of the step as the log counts; NULL where it does not say.
    step bigint,
    --: When it was written, ns since 1970 as the log's own clock reads; NULL without a time.
    at_ns bigint,
    --: step_time, loss, gradient_norm, learning_rate, throughput, memory, mfu, tokens, samples, epoch, or the log's name.
    quantity varchar not null,
    --: The number.
    value double not null,
    --: Unit: ns, bytes, share, tokens/s, ...; NULL for a number without one.
    unit varchar
);

--: One row per event that a training log tells of and that is no step.
create table if not exists run_event (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see run_log.
    log_id integer not null,
    --: Line or record of the file, from 1.
    line bigint not null,
    --: Its begin (its end for the mark end), ns since 1970 as the log's own clock reads; NULL without a time.
    at_ns bigint,
    --: Duration, ns; NULL except for the mark interval.
    dur bigint,
    --: begin, end, interval or moment.
    mark varchar not null,
    --: start_up, compile, data, evaluation, checkpoint, restart, idle or failure; of schedulers also queue and
    --: allocation (the time in which a job has its GPUs).
    phase varchar not null,
    --: Number of the step as the log counts; NULL where it does not say.
    step bigint,
    --: More on it, in a few words; NULL where there is no more.
    detail varchar
);

--: One row per launch that a kernel profiler measured (Nsight Compute, rocprof-compute) and whose CSV was given beside the
--: trace, or per summary over several launches. The profiler runs each launch alone, mostly at the base clock and with cold
--: caches: its times are not those of the trace, and nothing here is in the ledger. docs/kernel-reports.md.
create table if not exists kernel_report (
    --: Trace.
    trace_id integer not null,
    --: Number of the row within its trace, from 0.
    report_id bigint not null,
    --: Name of the file, without its folder; of tables in a folder with it.
    file varchar not null,
    --: ncu or rocprof-compute (also of Omniperf, its older name).
    tool varchar not null,
    --: Version as the files tell it, as "ROCm 6.2.1"; NULL where they do not: Nsight Compute's never do.
    version varchar,
    --: Part of the report: raw, details or summary (Nsight Compute), counters (pmc_perf.csv) or tables (analyze).
    page varchar not null,
    --: Number of the launch in the report; NULL of summaries.
    launch_id bigint,
    --: Launches that the row is about: 1, or those that its means are of.
    launches bigint not null,
    --: Name of the kernel as the report writes it.
    kernel varchar not null,
    --: The name without namespaces, templates and arguments; NULL where that leaves no name.
    function varchar,
    --: Blocks in x; NULL where the report does not tell: rocprof-compute's have their product only.
    grid_x bigint,
    --: Blocks in y; NULL likewise.
    grid_y bigint,
    --: Blocks in z; NULL likewise.
    grid_z bigint,
    --: Threads per block in x; NULL likewise.
    block_x bigint,
    --: Threads per block in y; NULL likewise.
    block_y bigint,
    --: Threads per block in z; NULL likewise.
    block_z bigint,
    --: Blocks of the grid; NULL where the report does not tell.
    blocks bigint,
    --: Threads per block; NULL where the report does not tell.
    threads_per_block bigint,
    --: Device, as the profiler counts; NULL where the report does not tell.
    device bigint,
    --: Compute capability, as 9.0; NULL where the report does not tell.
    compute_capability varchar,
    --: Duration as the profiler measured it, ns; of summaries the mean. Not the trace's: see above.
    dur bigint,
    --: Speed of light of the multiprocessors: the busiest of their units, as a share of its peak (at times a little above
    --: 1). Of rocprof-compute the busier of VALU and MFMA.
    compute_throughput double,
    --: Speed of light of the memory: the busiest unit of all caches and the device's memory, as a share of its peak.
    memory_throughput double,
    --: The device's memory, share of its peak bandwidth.
    dram_throughput double,
    --: L2 cache, share of its peak.
    l2_throughput double,
    --: L1 cache, share of its peak.
    l1_throughput double,
    --: Warps (waves) that were there on average, as a share of the most.
    achieved_occupancy double,
    --: Warps that fit by registers, shared memory and the size of blocks, as a share of the most.
    theoretical_occupancy double,
    --: Registers per thread; of AMD's GPUs vector registers with those of the matrix cores.
    registers_per_thread bigint,
    --: Static and dynamic shared memory per block together (LDS), bytes.
    shared_memory bigint,
    --: What allows the fewest blocks on a multiprocessor: warps, blocks, registers, shared_memory or barriers (the first of
    --: equals); NULL where the report does not tell.
    limiter varchar,
    --: Blocks over the blocks that fit on the whole GPU at once.
    waves double,
    --: Cycles between two instructions that a warp issues.
    warp_latency double,
    --: Clock of the multiprocessors meanwhile, Hz.
    sm_clock double
);

--: One row per launch of kernel_report and reason for which its warps (waves) did not issue an instruction.
create table if not exists kernel_stall (
    --: Trace.
    trace_id integer not null,
    --: The launch in kernel_report.
    report_id bigint not null,
    --: As Nsight Compute names it: long_scoreboard (waits for memory), barrier, math_pipe_throttle, ... (selected is no
    --: stall: the warp issues). Of rocprof-compute dependency (memory) and issue. docs/kernel-reports.md has all.
    reason varchar not null,
    --: Share of the time of all warps; NULL where the report does not tell.
    share double,
    --: Cycles for each instruction that a warp issues (of rocprof-compute for each wave); NULL where it does not tell.
    cycles double
);

--: One row per log of requests to a server that was given beside the trace.
create table if not exists request_log (
    --: Trace.
    trace_id integer not null,
    --: Number of the log within its trace, from 0.
    log_id integer not null,
    --: Name of the file, without its folder.
    file varchar not null,
    --: What it is: otlp (spans), bench, profile_export, sglang_log or records (fields recognised by their names).
    format varchar not null,
    --: Who measured: server (the engine), or client, whose times include the network.
    side varchar not null,
    --: Its times: utc, local (of a zone that it does not name), own (since a moment that only its writer knows) or none.
    clock varchar not null,
    --: What was added to its times to have them on the clock of the trace, ns; NULL where it is not placed.
    shift bigint,
    --: Requests in it.
    requests bigint not null,
    --: Lines or records that tell of requests and could not be read.
    left_out bigint not null,
    --: How it is placed on the clock of the trace, or why not, in words.
    reason varchar not null
);

--: One row per request that a log tells of, in the order of the log. Times are on the clock of the trace, and may lie
--: outside of the capture; NULL where the log is not placed (request_log.shift) or does not say.
create table if not exists request (
    --: Trace.
    trace_id integer not null,
    --: Number of the request within its trace, from 0.
    request_number bigint not null,
    --: Log; see request_log.
    log_id integer not null,
    --: Its name in the log; NULL where the log has none.
    request_id varchar,
    --: ok, failed or aborted.
    status varchar not null,
    --: When it came, ns.
    arrival_ts bigint,
    --: When the engine began to compute it, ns.
    scheduled_ts bigint,
    --: When its first token came, ns.
    first_token_ts bigint,
    --: When its last token came, or when it ended otherwise, ns.
    end_ts bigint,
    --: Tokens of its prompt; NULL where the log does not say.
    prompt_tokens bigint,
    --: Tokens that it got; NULL where the log does not say.
    output_tokens bigint,
    --: Tokens of its prompt whose keys and values were in the cache; NULL where the log does not say.
    cached_tokens bigint,
    --: Time in the queue, ns; NULL where the log does not say.
    queue bigint,
    --: Time to first token, from the arrival, ns; NULL likewise.
    ttft bigint,
    --: Time from the arrival to the end, ns; NULL likewise.
    e2e bigint,
    --: Time per output token after the first, ns: (e2e - ttft) / (output_tokens - 1); NULL with fewer than two tokens.
    tpot double
);

--: One row per token of a request, where the log says when each came. What came at once counts as one token.
create table if not exists request_token (
    --: Trace.
    trace_id integer not null,
    --: Request; see request.
    request_number bigint not null,
    --: Number of the token, from 0.
    token integer not null,
    --: When it came, ns after the arrival of the request.
    since_arrival bigint not null,
    --: Time since the token before, ns; NULL for the first.
    gap bigint
);

--: One row per execution trace of PyTorch (ExecutionTraceObserver; Chakra's host traces) that was given beside the trace.
create table if not exists execution_trace (
    --: Trace.
    trace_id integer not null,
    --: Name of the file, without its folder.
    file varchar not null,
    --: Version of its layout: 1.1.1-chakra.0.0.4.
    schema_version varchar not null,
    --: Nodes in it that are operators.
    operators bigint not null,
    --: Operators of these that are in the trace, too, by the number that both give them.
    matched bigint not null,
    --: Pairs of operators of which one uses what the other has written; operator_dependency has those whose operators are
    --: both in the trace.
    dependencies bigint not null
);

--: One row per pair of operators of which one uses memory of a tensor that the other was the last to write, as an execution
--: trace beside the trace says. Operators are of every level: of nested ones the outermost that had ended has written.
create table if not exists operator_dependency (
    --: Trace.
    trace_id integer not null,
    --: Operator that uses the tensor; see cpu_slice.
    slice_id bigint not null,
    --: Operator that wrote it, and ended before; see cpu_slice.
    source_id bigint not null,
    --: read, or update: it changes the tensor in place.
    kind varchar not null,
    --: Bytes of the tensors that it uses of it, each counted once, however much of it the source wrote.
    size bigint not null
);

--: One row per fact and knob of the run, as the snapshot says that traceq record or traceq.profile wrote beside the
--: trace; no rows without one. What could not be known has no row.
create table if not exists made_with (
    --: Trace.
    trace_id integer not null,
    --: host, gpu, software (versions of what was imported), precision, threads, loader, optimizer, compile, parallel,
    --: program or environment (variables whose value may be shown).
    topic varchar not null,
    --: Number of the thing within its topic, from 0: GPUs as the process counts them, loaders with the one first from
    --: which the window fetched most, optimizers with that of most parameters first; 0 where there is one.
    instance integer not null,
    --: What it is: num_workers, batch_size, driver, OMP_NUM_THREADS, ...; a name belongs to one topic.
    name varchar not null,
    --: Its value as text: a number, true or false, default (left to PyTorch), off, a version or a word.
    value varchar not null,
    --: Unit of a number: bytes, MHz, W or CPUs; NULL for counts and for what is no number.
    unit varchar,
    --: Whether it is a knob, which a user sets for a run; false for what the machine and its software are.
    is_knob boolean not null
);

--: One row per value of the training that the program printed while traceq record watched it, as numbers and words of
--: traceq's own; no rows without. Kept are some hundred lines before the end of the recording and after it.
create table if not exists printed_value (
    --: Trace.
    trace_id integer not null,
    --: When the line began, ns on the trace's clock; NULL where the trace does not say when it was recorded.
    ts bigint,
    --: Number of the line among those with values, from 0: values of a line are of one step.
    line integer not null,
    --: Number of the step in the same line, as the program counts; NULL without one.
    step bigint,
    --: Steps of the optimizer, or of the program's marks, that had ended when the line was printed; NULL after the
    --: recording, when they are no longer counted.
    steps_completed bigint,
    --: step_time, throughput, prompt_throughput and generation_throughput (of a server), loss, learning_rate,
    --: gradient_norm or mfu; never of an evaluation.
    quantity varchar not null,
    --: Its value.
    value double not null,
    --: Unit: ns, it/s, samples/s, tokens/s or share; NULL for a number without one.
    unit varchar,
    --: Whether the profiler warmed up or recorded meanwhile, which makes steps longer.
    is_recorded boolean not null
);

--: One row per stack of Python functions that a worker process of a loader was sampled in while the steps were recorded,
--: from the file that traceq record wrote beside the trace; no rows without one. Of a worker only its main thread.
create table if not exists worker_sample (
    --: Trace, of the process that trains.
    trace_id integer not null,
    --: Process of the worker.
    pid bigint not null,
    --: Number of the worker in its loader, from 0; NULL where it did not say.
    worker integer,
    --: fetch (it makes a batch: reading, transforming, collating), wait (for the next batch to make) or other.
    state varchar not null,
    --: In a fetch, the innermost function of the program, FILE(LINE): NAME, that of a library where it has none; NULL in
    --: other states.
    function varchar,
    --: The functions of the stack, from the outermost on, separated by semicolons.
    frames varchar not null,
    --: How often it was sampled, 100 times a second where the worker lets it.
    samples bigint not null,
    --: Of all samples of this worker, how many these are.
    worker_share double not null
);

--: One row per page fault of the CPU, or group of page faults of a GPU on one page, on unified memory; addresses are
--: not kept.
create table if not exists page_fault (
    --: Trace.
    trace_id integer not null,
    --: What faulted: cpu or gpu.
    processor varchar not null,
    --: Device that faulted; NULL for the CPU.
    device integer,
    --: Process; NULL when the source does not say.
    pid bigint,
    --: Start, ns.
    ts bigint not null,
    --: Until the fault was served, ns; NULL for the CPU, of whose faults only the start is recorded.
    dur bigint,
    --: Faults of the group; 1 for the CPU.
    faults bigint not null,
    --: read, write, atomic or prefetch; NULL when unknown.
    access varchar,
    --: Function whose instruction faulted, on the CPU; NULL when unknown.
    function varchar
);

--: One row per node of a CUDA graph that was made, or copied from another, while nsys recorded: where the host was
--: then.
create table if not exists graph_node (
    --: Trace.
    trace_id integer not null,
    --: Process, in which ids of nodes are unique; NULL when the source does not say.
    pid bigint,
    --: Node; see gpu_slice.graph_node_id.
    graph_node_id bigint not null,
    --: Node that it is a copy of, as those of a graph that is made ready to run are; NULL for one that was captured.
    original_node_id bigint,
    --: Thread that made it.
    thread_id integer not null,
    --: When, ns.
    ts bigint not null,
    --: Call that made it; NULL when unknown.
    name varchar
);

--: One row per access to a file that nsys recorded; the call itself is in cpu_slice, too, where calls of the system
--: were traced.
create table if not exists file_access (
    --: Trace.
    trace_id integer not null,
    --: Thread; see thread.
    thread_id integer not null,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns; NULL when the source has no usable end.
    dur bigint,
    --: open, close, read or write; NULL when unknown.
    operation varchar,
    --: Function that was called; NULL when unknown.
    function varchar,
    --: Bytes read or written; NULL when unknown.
    bytes bigint,
    --: File; NULL when unknown.
    path varchar
);

--: One row per time for which a thread was on a CPU, or off all of them, as the scheduler had it; of threads of which
--: something else was recorded, too.
create table if not exists thread_state (
    --: Trace.
    trace_id integer not null,
    --: Thread; see thread.
    thread_id integer not null,
    --: Start, ns.
    ts bigint not null,
    --: Until the thread was switched next, ns; after its last switch to the end of the last of any thread.
    dur bigint not null,
    --: End, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: Whether it was on a CPU.
    on_cpu boolean not null,
    --: CPU it was on, or left.
    cpu integer,
    --: Why it was off: preempted, waiting, page_fault, stopped or ended; NULL when on, and when the source does not
    --: say, as on Linux.
    reason varchar
);

--: One row per sample of what a thread executed, taken at a rate while it was on a CPU; of threads of which something
--: else was recorded, too.
create table if not exists cpu_sample (
    --: Trace.
    trace_id integer not null,
    --: Thread; see thread.
    thread_id integer not null,
    --: When it was taken, ns.
    ts bigint not null,
    --: Innermost function whose name is known; NULL for none.
    symbol varchar,
    --: File of the innermost function, without its folders; NULL when unknown.
    module varchar,
    --: Innermost function of the program itself: neither of the C and C++ libraries, the interpreter, drivers, nor of
    --: the standard library compiled into it; NULL for none.
    caller varchar
);

--: One row per call of the host whose call stack nsys recorded: of CUDA with --cudabacktrace, of the operating system those
--: that last long (80 µs unless said otherwise).
create table if not exists backtrace (
    --: Trace.
    trace_id integer not null,
    --: The call in cpu_slice.
    slice_id bigint not null,
    --: Functions from the outermost on, with > between, at most the 64 innermost; in brackets a file whose functions have
    --: no names.
    stack varchar not null,
    --: Innermost function of the program itself, as in cpu_sample; NULL for none.
    caller varchar
);

--: One row per kind of oddity met while reading a trace.
create table if not exists import_note (
    --: Trace.
    trace_id integer not null,
    --: info (nothing lost), data_loss (something in the file is not in the tables), error (the capture itself is
    --: incomplete or wrong).
    severity varchar not null,
    --: Short stable name of the oddity, e.g. truncated, not_a_number.
    code varchar not null,
    --: How many times it was met.
    count bigint not null,
    --: What it means, and what to do about it.
    text varchar not null
);

--: One row per entry in the history of PyTorch's caching allocator, as a memory snapshot has it: in its order, which
--: times of one microsecond do not tell.
create table if not exists allocator_event (
    --: Trace.
    trace_id integer not null,
    --: Device.
    device integer not null,
    --: Place in the history of its device, from 0; what was there before is lost where the history was full
    --: (max_entries).
    number bigint not null,
    --: alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, segment_unmap, oom or snapshot.
    action varchar not null,
    --: When, ns; the source has microseconds. NULL of snapshots of PyTorch 2.0 and older: only the order is known.
    ts bigint,
    --: Address of the block or segment; NULL of oom.
    address bigint,
    --: Size of the segment; of a tensor what was asked for, which its block can exceed.
    bytes bigint not null,
    --: What the device had left when memory ran out, bytes; NULL of other actions.
    device_free bigint,
    --: Stream, as the source numbers it.
    stream bigint,
    --: Stack that did it; NULL when none was recorded.
    stack_id bigint,
    --: What torch.compile was doing, as the source has it; NULL mostly.
    compile_context varchar
);

--: One row per segment that the caching allocator held of a device when the snapshot was taken.
create table if not exists allocator_segment (
    --: Trace.
    trace_id integer not null,
    --: Key of the segment within its trace.
    segment_id bigint not null,
    --: Device.
    device integer not null,
    --: Where it starts.
    address bigint not null,
    --: Its size, bytes.
    bytes bigint not null,
    --: Blocks of it that tensors used, bytes, as the source says.
    allocated_bytes bigint,
    --: The same with blocks that wait for another stream before they can be used again, bytes.
    active_bytes bigint,
    --: What was asked for in these, bytes.
    requested_bytes bigint,
    --: Stream that its blocks are for.
    stream bigint,
    --: small (blocks of at most 1 MiB) or large; NULL when the source does not say.
    kind varchar,
    --: Id of its memory pool; 0.0 is the usual one, others belong to CUDA graphs and to pools of the program.
    pool varchar,
    --: Whether it can grow (expandable_segments).
    is_expandable boolean not null,
    --: Stack that asked for it; NULL when none was recorded.
    stack_id bigint
);

--: One row per block of a segment when the snapshot was taken.
create table if not exists allocator_block (
    --: Trace.
    trace_id integer not null,
    --: Segment it is a part of.
    segment_id bigint not null,
    --: Place in the segment, from 0.
    number bigint not null,
    --: Where it starts.
    address bigint not null,
    --: Its size, bytes.
    bytes bigint not null,
    --: What was asked for, bytes; of an inactive block what was asked for last.
    requested_bytes bigint,
    --: active_allocated (a tensor uses it), active_awaiting_free (another stream may still use it) or inactive.
    state varchar not null,
    --: Stack that asked for it; NULL when none was recorded.
    stack_id bigint
);

--: One row per frame of each distinct stack of a memory snapshot.
create table if not exists allocator_stack (
    --: Trace.
    trace_id integer not null,
    --: Key of the stack within its trace.
    stack_id bigint not null,
    --: Place of the frame, 0 the innermost.
    depth integer not null,
    --: Function.
    name varchar not null,
    --: File; ?? or empty of C++ functions without debug information.
    file varchar not null,
    --: Line; 0 when unknown.
    line bigint not null
);
