-- Communication: what the names mean, what ran beside each collective, and what it cost. Definitions: docs/metrics.md.

create table if not exists communication_name (
    trace_id integer not null,
    kind varchar not null,
    name varchar not null,
    library varchar,
    op varchar not null,
    algorithm varchar,
    scope varchar
);
comment on table communication_name is 'One row per name of the trace that means communication; the list of patterns is traceq/analysis/communication/communication.sql.';
comment on column communication_name.kind is 'kernel (gpu_slice.name), range (cpu_slice.name of operators and annotations) or collective (collective.op).';
comment on column communication_name.name is 'The name.';
comment on column communication_name.library is 'NCCL, RCCL, MSCCL, NVSHMEM, DeepEP, symmetric memory, custom, Gloo, MPI, UCX, ...; NULL when the name does not tell.';
comment on column communication_name.op is 'all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send, recv, send_recv (a kernel that does both), barrier, gather, scatter, or unknown.';
comment on column communication_name.algorithm is 'ring, tree, nvls, nvls_tree, collnet, pat, symmetric, multimem, one_shot, two_shot or lamport; NULL when the name does not tell. NCCL''s ring is any but tree: it has no kernels of their own for the others.';
comment on column communication_name.scope is 'For ranges, what launched in them is communication: all (kernels and peer copies) or copies (peer copies only); NULL for others.';

create table if not exists communication_overlap (
    trace_id integer not null,
    device integer not null,
    step integer not null,
    communication bigint not null,
    compute bigint not null,
    overlapped bigint not null,
    exposed bigint not null,
    overlap_share double,
    opaque bigint not null
);
comment on table communication_overlap is 'One row per device and step: communication against compute.';
comment on column communication_overlap.step is 'Step the time elapsed in.';
comment on column communication_overlap.communication is 'Time with communication, ns: overlapped + exposed.';
comment on column communication_overlap.compute is 'Time with a compute kernel or an opaque CUDA graph, ns: compute of time_ledger.';
comment on column communication_overlap.overlapped is 'Time with both, ns.';
comment on column communication_overlap.exposed is 'Time with communication and no compute, ns: communication of time_ledger.';
comment on column communication_overlap.overlap_share is 'overlapped / communication; NULL without communication.';
comment on column communication_overlap.opaque is 'Time with a CUDA graph traced as a whole, ns: communication inside it cannot be seen and counts as compute.';

create table if not exists collective_slice (
    trace_id integer not null,
    slice_id bigint not null,
    device integer not null,
    stream bigint,
    step integer,
    library varchar,
    op varchar not null,
    algorithm varchar,
    group_name varchar,
    group_size integer,
    bytes bigint,
    size_class bigint,
    dur bigint not null,
    overlapped bigint not null,
    exposed bigint not null,
    blocking bigint,
    algorithm_bandwidth double,
    bus_bandwidth double
);
comment on table collective_slice is 'One row per GPU slice of communication: what it did, what ran beside it, and what waited for it.';
comment on column collective_slice.stream is 'Stream; NULL when the source does not say.';
comment on column collective_slice.step is 'Step it was launched in; NULL outside all steps.';
comment on column collective_slice.library is 'As in communication_name; NULL when neither its name nor the range around its launch tells.';
comment on column collective_slice.op is 'As in communication_name: by the source''s description, else the range it was launched in, else its name.';
comment on column collective_slice.algorithm is 'As in communication_name; copy_engine for peer copies; NULL when unknown.';
comment on column collective_slice.group_name is 'Process group, as in collective; NULL when unknown.';
comment on column collective_slice.group_size is 'Ranks in the process group; NULL when unknown.';
comment on column collective_slice.bytes is 'Message size as in collective.bytes; NULL when unknown.';
comment on column collective_slice.size_class is 'Least message size of its class, bytes: a power of 4, or 0; NULL when bytes is.';
comment on column collective_slice.dur is 'Duration, ns, waiting for other ranks included.';
comment on column collective_slice.overlapped is 'Of that, with a compute kernel or an opaque graph running on the device, ns.';
comment on column collective_slice.exposed is 'The rest, ns.';
comment on column collective_slice.blocking is 'Of exposed, the time in which issued compute waited for nothing but this, ns; NULL when the trace cannot tell.';
comment on column collective_slice.algorithm_bandwidth is 'bytes / dur, in bytes per nanosecond, which is GB/s; NULL when either is unknown or the duration is 0.';
comment on column collective_slice.bus_bandwidth is 'algorithm_bandwidth times the factor of nccl-tests for op and group_size, GB/s; NULL when one of them is unknown.';

create table if not exists collective_link (
    trace_id integer not null,
    device integer not null,
    group_name varchar not null,
    group_size integer not null,
    evidence varchar not null,
    link varchar not null,
    bandwidth double not null
);
comment on table collective_link is 'One row per device and process group whose ranks are known to be GPUs of one machine, where the model of the GPU is known: the link between them.';
comment on column collective_link.group_name is 'Process group, as in collective.';
comment on column collective_link.evidence is 'How it is known: all_ranks_here (all are in this trace), job_fits (the job has no more ranks than the machine has GPUs), ranks_of_one (their ranks are those that launchers give to one machine).';
comment on column collective_link.link is 'gpu_model.peer_link, or host_link where there is none or only a bridge, which need not be there.';
comment on column collective_link.bandwidth is 'What the group has of it at the least, GB/s per direction and GPU, as makers publish it: (group_size - 1) / 7 of a peer link, which may be split among the seven others of a board of eight.';
