-- The causal model of the counted steps: what waits for what, what a replay of it gives, and what the steps would last without one cause.

--: One row per edge of the dependency graph of the counted steps: the target waits for the source. Edges that were not
--: binding are there as well. Definition: docs/metrics.md.
create table if not exists dependency (
    --: Trace.
    trace_id integer not null,
    --: thread (a call after the call before it on its thread), hand_over (the same between threads that take turns),
    --: launch (call to GPU slice), stream, copy_engine, event (one stream waits for another), graph (node of a CUDA
    --: graph to node), tensor (what an execution trace says that it uses, on another stream), synchronization,
    --: blocking_copy, allocation (end of a GPU slice to the return of a call), queue (start of a GPU slice to the return
    --: of a launch that waited for room).
    kind varchar not null,
    --: cpu_slice (of thread, hand_over, launch) or gpu_slice that is waited for.
    source_id bigint not null,
    --: gpu_slice that starts, or cpu_slice that begins (thread, hand_over) or returns, after it.
    target_id bigint not null,
    --: Time from the source to the target as recorded, ns: from the end of the source, of a launch from the start of
    --: the call, of queue from the start of the slice. Negative where the clocks of host and GPU differ, or work
    --: overlaps. Of thread and hand_over the host's time between the calls.
    lag bigint not null,
    --: The lag that a replay uses, ns: the median of its kind in the other half of the steps, as far as a GPU or driver
    --: needs it. Of thread and hand_over as recorded.
    usual bigint not null,
    --: What that median is beyond this, ns: nothing in the trace says what is waited for.
    unexplained bigint not null
);

--: One row per step that was replayed: its length as recorded and as predicted from the other half of the steps (even
--: from odd ones; of a single step one half from the other).
create table if not exists replay_step (
    --: Trace.
    trace_id integer not null,
    --: Step.
    step integer not null,
    --: From its start to the start of the next as recorded, ns; of the last to its end, or to the end of all GPU work
    --: when that is later.
    dur bigint not null,
    --: The same in the replay, ns.
    predicted bigint not null,
    --: |predicted - dur| / dur.
    error double not null
);

--: One row per segment of the critical path of the counted steps: what each instant waited for. The segments of a step
--: follow one another and add up to it.
create table if not exists critical_path (
    --: Trace.
    trace_id integer not null,
    --: Number of the segment in the order of time, from 0.
    segment integer not null,
    --: Step it elapsed in.
    step integer not null,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: End, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: host (a thread works), gpu (a kernel or memset runs), transfer (a copy or collective runs) or wait (something
    --: has ended and what follows has not begun).
    kind varchar not null,
    --: Of a wait the kind of its edge, as in dependency, or start: before anything that is known; NULL of other
    --: segments.
    edge varchar,
    --: As in time_ledger: of GPU work its category; of the host what idle time it would cause; of waits
    --: idle_launch_latency, idle_dependency, idle_sync or idle_earlier_work.
    cause varchar not null,
    --: The gpu_slice that runs or is waited for, or the innermost cpu_slice; NULL where the thread was in none.
    slice_id bigint,
    --: Thread of a host segment; NULL of others.
    thread_id integer,
    --: Device of GPU work; NULL of the host.
    device integer,
    --: Stream of GPU work; NULL of the host, or when unknown.
    stream bigint,
    --: Name of the slice.
    name varchar,
    --: Operator around the slice or around its launch; NULL when there is none.
    operator varchar,
    --: Of a wait the part for which the trace gives no reason, ns.
    unexplained bigint not null
);

--: One row per scenario: the counted steps executed again with the time of one cause taken away. Definition:
--: docs/metrics.md.
create table if not exists replay (
    --: Trace.
    trace_id integer not null,
    --: What is taken away: a category of time_ledger (idle_sync: nothing waits for the GPU), data_in_workers (idle_data
    --: moves into worker processes), communication_waiting (collectives as fast as the fastest of their class),
    --: communication_overlap and copies_overlap (beside the kernels, on streams of their own), communication_half
    --: (collectives move half the bytes), launch_graph (one CUDA graph a stretch: the host does not prepare and launch
    --: kernels), fusion (kernels that compute, with the host's time to launch them), or host_preempted (no thread
    --: stands still, see host_stall; likely is for a job whose other ranks are in the same place).
    scenario varchar not null,
    --: Time of the critical device that the ledger holds for it over the counted steps, ns; of idle_sync also the rest
    --: of the gaps that synchronizing calls drained.
    removable bigint not null,
    --: Time by which the replayed steps get shorter together, ns. NULL when the replay is more than 3 % off, or more
    --: than 5 % of the critical path is unexplained: then only the bounds stand. NULL also of idle_unattributed, whose
    --: cause is not known.
    saved bigint,
    --: saved over removable, at most 1: what is left of an upper bound when other waits take the place of the one
    --: removed. NULL as saved.
    share double,
    --: saved_low over removable, at most 1.
    share_low double,
    --: saved_high over removable, at most 1.
    share_high double,
    --: How far the replay with nothing changed, in which each half of the steps is predicted from the other, is from
    --: what was recorded, as a share of it.
    error double,
    --: Least of it, ns: what is unexplained on the critical path, and what the replay is off, might take its place. 0
    --: of idle_unattributed.
    saved_low bigint,
    --: Most of it, ns: the same might go with it; not more than the cause has on the critical path (on_path).
    saved_high bigint,
    --: What a quarter of the change saves, ns. More never saves less, and the first quarter saves most.
    saved_quarter bigint,
    --: Time of the scenario on the critical path of the counted steps, ns: no change of it can save more. NULL of
    --: scenarios that are no category.
    on_path bigint,
    --: Share of the critical path for which the trace gives no reason.
    unexplained double
);
