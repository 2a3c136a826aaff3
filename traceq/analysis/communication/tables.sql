-- Communication: what the names mean, what ran beside each collective, and what it cost. Definitions: docs/metrics.md.

--: One row per name of the trace that means communication; the list of patterns is
--: traceq/analysis/communication/communication.sql.
create table if not exists communication_name (
    --: Trace.
    trace_id integer not null,
    --: kernel (gpu_slice.name), range (cpu_slice.name of operators and annotations) or collective (collective.op).
    kind varchar not null,
    --: The name.
    name varchar not null,
    --: NCCL, RCCL, MSCCL, NVSHMEM, DeepEP, symmetric memory, custom, Gloo, MPI, UCX, ...; NULL when the name does not
    --: tell.
    library varchar,
    --: all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send, recv, send_recv (a kernel that does
    --: both), barrier, gather, scatter, or unknown.
    op varchar not null,
    --: ring, tree, nvls, nvls_tree, collnet, pat, symmetric, multimem, one_shot, two_shot or lamport; NULL when the
    --: name does not tell. NCCL's ring is any but tree: it has no kernels of their own for the others.
    algorithm varchar,
    --: For ranges, what launched in them is communication: all (kernels and peer copies) or copies (peer copies only);
    --: NULL for others.
    scope varchar
);

--: One row per device and step: communication against compute.
create table if not exists communication_overlap (
    --: Trace.
    trace_id integer not null,
    --: Device.
    device integer not null,
    --: Step the time elapsed in.
    step integer not null,
    --: Time with communication, ns: overlapped + exposed.
    communication bigint not null,
    --: Time with a compute kernel or an opaque CUDA graph, ns: compute of time_ledger.
    compute bigint not null,
    --: Time with both, ns.
    overlapped bigint not null,
    --: Time with communication and no compute, ns: communication of time_ledger.
    exposed bigint not null,
    --: overlapped / communication; NULL without communication.
    overlap_share double,
    --: Time with a CUDA graph traced as a whole, ns: communication inside it cannot be seen and counts as compute.
    opaque bigint not null
);

--: One row per GPU slice of communication: what it did, what ran beside it, and what waited for it.
create table if not exists collective_slice (
    --: Trace.
    trace_id integer not null,
    --: The gpu_slice.
    slice_id bigint not null,
    --: Device.
    device integer not null,
    --: Stream; NULL when the source does not say.
    stream bigint,
    --: Step it was launched in; NULL outside all steps.
    step integer,
    --: As in communication_name; NULL when neither its name nor the range around its launch tells.
    library varchar,
    --: As in communication_name: by the source's description, else the range it was launched in, else its name.
    op varchar not null,
    --: As in communication_name; copy_engine for peer copies; NULL when unknown.
    algorithm varchar,
    --: Process group, as in collective; NULL when unknown.
    group_name varchar,
    --: Ranks in the process group; NULL when unknown.
    group_size integer,
    --: Message size as in collective.bytes; NULL when unknown.
    bytes bigint,
    --: Least message size of its class, bytes: a power of 4, or 0; NULL when bytes is.
    size_class bigint,
    --: Duration, ns, waiting for other ranks included.
    dur bigint not null,
    --: Of that, with a compute kernel or an opaque graph running on the device, ns.
    overlapped bigint not null,
    --: The rest, ns.
    exposed bigint not null,
    --: Of exposed, the time in which issued compute waited for nothing but this, ns; NULL when the trace cannot tell.
    blocking bigint,
    --: bytes / dur, in bytes per nanosecond, which is GB/s; NULL when either is unknown or the duration is 0.
    algorithm_bandwidth double,
    --: busbw of nccl-tests over dur, waiting included: algorithm_bandwidth times the factor for op and group_size, GB/s;
    --: NULL when one of them is unknown.
    bus_bandwidth double
);

--: One row per device and process group whose ranks are known to be GPUs of one machine, where the model of the GPU is
--: known: the link between them.
create table if not exists collective_link (
    --: Trace.
    trace_id integer not null,
    --: Device.
    device integer not null,
    --: Process group, as in collective.
    group_name varchar not null,
    --: Ranks in the process group.
    group_size integer not null,
    --: How it is known: all_ranks_here (all are in this trace), job_fits (the job has no more ranks than the machine
    --: has GPUs), ranks_of_one (their ranks are those that launchers give to one machine).
    evidence varchar not null,
    --: gpu_model.peer_link, or host_link where there is none or only a bridge, which need not be there.
    link varchar not null,
    --: What the group has of it at the least, GB/s per direction and GPU, as makers publish it: (group_size - 1) / 7 of
    --: a peer link, which may be split among the seven others of a board of eight.
    bandwidth double not null
);

--: One row per trace and process group that it lists or that carries collectives on a GPU: which axis of parallelism it
--: runs along. Definitions: docs/axes.md.
create table if not exists process_group (
    --: Trace.
    trace_id integer not null,
    --: Name of the group, as in collective_slice.group_name.
    group_name varchar not null,
    --: What the program calls it (TENSOR_MODEL_PARALLEL_GROUP, mesh_dp); NULL when it says nothing.
    description varchar,
    --: Ranks in the group; NULL when unknown.
    group_size integer,
    --: These ranks, in order; NULL when they are not all known.
    ranks integer[],
    --: Difference between one rank and the next; NULL when it varies or the ranks are unknown.
    stride integer,
    --: tp, cp, ep, dp or pp, several as tp+pp, world for all ranks of a job with several axes, or a name given with
    --: --axes; NULL when nothing tells.
    axis varchar,
    --: What told the axis: given (--axes), description (words in its name or description), mesh (what goes through it,
    --: and ranks that are a part of the job at one stride) or inferred (what goes through it alone); NULL when axis is.
    axis_source varchar,
    --: Whether it is the only group of several ranks: collectives that name no group are then in this one.
    is_only boolean not null
);

--: One row per trace and axis of the mesh of ranks that was given with --axes; none without.
create table if not exists mesh_axis (
    --: Trace.
    trace_id integer not null,
    --: Place of the axis, from 0: the one whose ranks are neighbours first.
    place integer not null,
    --: Its name: tp, dp.
    axis varchar not null,
    --: Ranks along it.
    size integer not null,
    --: Difference between the ranks of neighbours on it.
    stride integer not null
);
