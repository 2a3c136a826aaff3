-- Records of collectives that a library kept on its own while the program ran: the Inspector plugins of NCCL and RCCL, and NCCL's
-- example of a profiler plugin. Filled where such files are given with a trace, and by traceq collectives. Definitions:
-- docs/collectives.md.

--: One row per process whose records are known: one GPU of one rank.
create table if not exists inspected_process (
    --: Trace.
    trace_id integer not null,
    --: Number of the process, from 0, in the order of its rank, host and pid.
    process integer not null,
    --: Its host; NULL when the record does not say.
    host varchar,
    --: Its pid; NULL when the record does not say.
    pid bigint,
    --: Its rank in the one largest communicator, which all processes are in; NULL without one, and of one process alone.
    rank integer,
    --: Whether it is the process of the trace; NULL where that is not known.
    is_of_trace boolean,
    --: Records, each once.
    records bigint not null,
    --: Records that were in the files more than once.
    repeated bigint not null,
    --: Duration of its operations together, ns; operations that overlap count twice.
    dur bigint not null,
    --: Of that, in operations that were found on all their ranks, what the fastest rank needed as well, ns.
    transfer bigint not null,
    --: Of these, the rest: waiting for other ranks, ns.
    wait bigint not null,
    --: Operations found on all their ranks.
    matched bigint not null,
    --: Operations to which it clearly came last: all others waited for it, at least 25 us and a tenth of the transfer.
    last_count bigint not null,
    --: What the others together waited for it in these, ns.
    awaited bigint not null,
    --: Median of how late it was in these, against the first, ns; NULL where it never was.
    late_by bigint,
    --: When its first record was made, ns since 1970; NULL when no record says.
    first_utc_ns bigint,
    --: When its last record was made, ns since 1970; NULL when no record says.
    last_utc_ns bigint
);

--: One row per communicator of the records.
create table if not exists inspected_communicator (
    --: Trace.
    trace_id integer not null,
    --: Its id, the same on all its ranks.
    communicator varchar not null,
    --: The name that the program gave it; NULL without one.
    name varchar,
    --: Ranks in it; NULL when the record does not say.
    group_size integer,
    --: Machines that its ranks are on; NULL when neither the record nor its hosts say.
    nodes integer,
    --: Processes of it whose records are here.
    processes integer not null,
    --: Records.
    records bigint not null,
    --: Duration of its operations on all ranks, ns.
    dur bigint not null
);

--: One row per operation and rank: what the library recorded of a collective, a send or a receive. Of a trace only those
--: of its own process, where that is known.
create table if not exists inspected_collective (
    --: Trace.
    trace_id integer not null,
    --: Process; see inspected_process.
    process integer not null,
    --: Communicator; see inspected_communicator.
    communicator varchar not null,
    --: Rank of the process in it.
    communicator_rank integer not null,
    --: Ranks in the communicator; NULL when the record does not say.
    group_size integer,
    --: As in communication_name: all_reduce, all_gather, send, ...; unknown for others.
    op varchar not null,
    --: Number of the operation in the communicator, as the record has it: among those of its op, or of all sends and
    --: receives.
    sequence bigint not null,
    --: Rank in the communicator that is sent to or received from; NULL of collectives.
    peer integer,
    --: Message of one rank, bytes, as the record has it.
    message_bytes bigint not null,
    --: Message size as in collective.bytes: of all ranks together for all_gather and reduce_scatter; NULL of
    --: operations whose size of message does not tell.
    bytes bigint,
    --: Duration on this rank, ns, waiting for other ranks included; records hold whole microseconds.
    dur bigint not null,
    --: What was timed: kernel_gpu (the GPU's clock), kernel_cpu or collective_cpu (the host's); NULL when not said.
    timing varchar,
    --: Algorithm as the record has it; NULL when not said.
    algorithm varchar,
    --: Protocol as the record has it; NULL when not said.
    protocol varchar,
    --: Algorithm bandwidth as the record has it, GB/s.
    said_algorithm_bandwidth double,
    --: Bus bandwidth as the record has it, GB/s.
    said_bus_bandwidth double,
    --: bytes / dur, GB/s; NULL when either is unknown or the duration is 0.
    algorithm_bandwidth double,
    --: As in collective_slice, over dur: waiting is in it, GB/s.
    bus_bandwidth double,
    --: Begin, ns since 1970; where utc_source is dump when the record was written, after the end. NULL when not said.
    utc_ns bigint,
    --: Whose time utc_ns is: kernel, operation or dump; NULL without one.
    utc_source varchar,
    --: The operation that it is part of; see inspected_match. NULL where it was found on no other rank.
    match_id bigint,
    --: Of dur, what the fastest rank needed as well, ns; NULL unless the records of all ranks are here.
    transfer bigint,
    --: The rest of dur: waiting for other ranks, ns; NULL when transfer is.
    wait bigint
);

--: One row per operation that was found on several ranks: a collective, or a send with its receive.
create table if not exists inspected_match (
    --: Trace.
    trace_id integer not null,
    --: Number of the operation.
    match_id bigint not null,
    --: Communicator.
    communicator varchar not null,
    --: As in inspected_collective; send_recv for a send with its receive.
    op varchar not null,
    --: Place in the communicator: of collectives the sequence of the record, of sends the ordinal from one rank to the
    --: other.
    sequence bigint not null,
    --: Process that sends; NULL of collectives.
    source integer,
    --: Process that receives; NULL of collectives.
    target integer,
    --: Ranks in the communicator; 2 for a send with its receive.
    group_size integer,
    --: Ranks whose records are here.
    members integer not null,
    --: As in inspected_collective; NULL where ranks differ.
    bytes bigint,
    --: Least duration over its ranks, ns: the time without waiting for others; NULL unless all are here.
    transfer bigint,
    --: Bus bandwidth over transfer, GB/s; NULL when that or bytes is.
    bus_bandwidth double,
    --: Process that clearly came last, for which all others waited; NULL without one.
    last_process integer,
    --: How long the first waited, ns; NULL when transfer is.
    late_by bigint,
    --: What all ranks waited together, ns; NULL when transfer is.
    wait bigint,
    --: Earliest utc_ns of its ranks.
    utc_ns bigint
);

--: One row per mean that a plugin told Prometheus: of the operations of one GPU, kind and class of sizes since the scrape
--: before. Waiting for other ranks is in all of them.
create table if not exists inspected_sample (
    --: Trace.
    trace_id integer not null,
    --: File, in the order given, from 0.
    file integer not null,
    --: Host; NULL when not said.
    host varchar,
    --: GPU of the host; NULL when not said.
    gpu integer,
    --: Name of the communicator; several may have the same.
    communicator_name varchar,
    --: Ranks in the communicator.
    group_size integer,
    --: Machines that its ranks are on.
    nodes integer,
    --: As in inspected_collective.
    op varchar not null,
    --: Least message of one rank in the class, bytes.
    size_low bigint not null,
    --: End of the class, bytes; no message is as large.
    size_high bigint not null,
    --: Algorithm and protocol as the plugin writes them; NULL of sends and receives.
    algorithm varchar,
    --: When, ns since 1970; NULL in a text, which has no times.
    utc_ns bigint,
    --: Geometric mean of the bus bandwidth, GB/s; NULL when not said.
    bus_bandwidth double,
    --: Mean duration, ns; NULL when not said.
    mean_dur double
);

--: One row per pair of processes or communicator whose transfers were compared with those of its like: as many ranks,
--: the same operations and sizes, within one machine or between machines.
create table if not exists inspected_link (
    --: Trace.
    trace_id integer not null,
    --: Number of the row, from 0.
    link_id integer not null,
    --: pair (source sends to target) or group (a communicator, of which a ring shows the slowest link only).
    kind varchar not null,
    --: Communicator; NULL of pairs.
    communicator varchar,
    --: Process that sends; NULL of groups.
    source integer,
    --: Process that receives; NULL of groups.
    target integer,
    --: intra_host or inter_host, by the hosts of its processes.
    level varchar not null,
    --: Ranks; 2 of pairs.
    group_size integer not null,
    --: How many are compared, itself among them.
    siblings integer not null,
    --: Operations.
    count bigint not null,
    --: Bytes of its largest class of messages.
    bytes bigint not null,
    --: Median bus bandwidth without waiting in that class, GB/s.
    bandwidth double not null,
    --: Median of the siblings' bandwidth in that class, GB/s.
    usual_bandwidth double not null,
    --: Time of its transfers / time that the median of its siblings took for the same, by period; median of the periods.
    ratio double not null,
    --: Parts of the record, of equal numbers of operations, that were compared one by one.
    periods integer not null,
    --: Of these, those in which it was clearly slower: by a quarter at least, and by more than the siblings differ.
    slow_periods integer not null,
    --: Whether that was so in several in a row.
    is_slow boolean not null,
    --: First of these, from 0; NULL where it is not slow.
    since_period integer,
    --: The same as a time, ns since 1970, as far as the records tell; NULL where they do not.
    since_utc_ns bigint,
    --: Bound of the chance that any link of a healthy job looks so slow: by the spread of the siblings, times the number
    --: of comparisons.
    chance double not null,
    --: What it is explained by; see slow_link. NULL where it is not slow.
    slow_link_id integer
);

--: One row per place of the network that explains slow links, the one that explains most first.
create table if not exists slow_link (
    --: Trace.
    trace_id integer not null,
    --: Number of the row, from 0.
    slow_link_id integer not null,
    --: rank (most links of one process), host (of most of its processes), pair (one direction between two), or group (a
    --: communicator; which of its links is not known).
    kind varchar not null,
    --: Process; of a pair the one that sends. NULL of hosts and groups.
    process integer,
    --: Of a pair the process that receives; NULL of others.
    peer integer,
    --: Host; NULL of pairs and groups between hosts, and when unknown.
    host varchar,
    --: Communicator of a group; NULL of others.
    communicator varchar,
    --: As in inspected_link.
    level varchar not null,
    --: Slow links that it explains.
    slow integer not null,
    --: Links of its own that were compared.
    links integer not null,
    --: Median of their inspected_link.ratio.
    ratio double not null,
    --: Of the link with the most operations, GB/s.
    bandwidth double not null,
    --: The same of its siblings, GB/s.
    usual_bandwidth double not null,
    --: Earliest of theirs, ns since 1970; NULL where they were slow from the beginning, or no record tells.
    since_utc_ns bigint,
    --: Least of theirs.
    chance double not null
);

--: One row per operation, size and number of ranks that both the trace and the records have: whether the traced window
--: is usual.
create table if not exists inspected_usual (
    --: Trace.
    trace_id integer not null,
    --: As in collective_slice.
    op varchar not null,
    --: Message size as in collective.bytes.
    bytes bigint not null,
    --: Ranks in the group; NULL when unknown.
    group_size integer,
    --: GPU slices of it in the trace.
    count bigint not null,
    --: Their duration together, ns.
    traced_dur bigint not null,
    --: Median duration in the trace, ns, waiting included.
    median_dur double not null,
    --: Median bus bandwidth in the trace, GB/s, waiting included; NULL when unknown.
    bus_bandwidth double,
    --: Records of it: of the process of the trace, else of all.
    records bigint not null,
    --: own (of the process of the trace) or all (its process is not known).
    compared_with varchar not null,
    --: Windows of as many operations that the records were cut into.
    windows bigint not null,
    --: 5th percentile of the windows' median durations, ns; NULL with fewer than 8 windows.
    usual_low double,
    --: Median of the windows' median durations, ns; NULL with fewer than 8 windows.
    usual_dur double,
    --: 95th percentile of the windows' median durations, ns; NULL with fewer than 8 windows.
    usual_high double,
    --: Share of the windows that were faster than the traced one; NULL with fewer than 8 windows.
    faster_share double,
    --: Median of the windows' median bus bandwidths, GB/s; NULL with fewer than 8 windows, and when unknown.
    usual_bandwidth double,
    --: Records whose time lies in that of the trace; NULL where the trace or the records do not say when.
    within bigint,
    --: Slices of the trace whose own record was found, by communicator, operation and number.
    paired bigint not null,
    --: Median of duration in the trace / duration in the record of these; NULL without any.
    paired_ratio double
);
