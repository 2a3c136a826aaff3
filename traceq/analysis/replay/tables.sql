-- The causal model of the counted steps: what waits for what, what a replay of it gives, and what the steps would last without one cause.

create table if not exists dependency (
    trace_id integer not null,
    kind varchar not null,
    source_id bigint not null,
    target_id bigint not null,
    lag bigint not null,
    usual bigint not null,
    unexplained bigint not null
);
comment on table dependency is 'One row per edge of the dependency graph of the counted steps: the target waits for the source. Edges that were not binding are there as well. Definition: docs/metrics.md.';
comment on column dependency.kind is 'thread (a call after the call before it on its thread), hand_over (the same between threads that take turns), launch (call to GPU slice), stream, copy_engine, event (one stream waits for another), graph (node of a CUDA graph to node), synchronization, blocking_copy, allocation (end of a GPU slice to the return of a call), queue (start of a GPU slice to the return of a launch that waited for room).';
comment on column dependency.source_id is 'cpu_slice (of thread, hand_over, launch) or gpu_slice that is waited for.';
comment on column dependency.target_id is 'gpu_slice that starts, or cpu_slice that begins (thread, hand_over) or returns, after it.';
comment on column dependency.lag is 'Time from the source to the target as recorded, ns: from the end of the source, of a launch from the start of the call, of queue from the start of the slice. Negative where the clocks of host and GPU differ, or work overlaps. Of thread and hand_over the host''s time between the calls.';
comment on column dependency.usual is 'The lag that a replay uses, ns: the median of its kind in the other half of the steps, as far as a GPU or driver needs it. Of thread and hand_over as recorded.';
comment on column dependency.unexplained is 'What that median is beyond this, ns: nothing in the trace says what is waited for.';

create table if not exists replay_step (
    trace_id integer not null,
    step integer not null,
    dur bigint not null,
    predicted bigint not null,
    error double not null
);
comment on table replay_step is 'One row per step that was replayed: its length as recorded and as predicted from the other half of the steps (even from odd ones; of a single step one half from the other).';
comment on column replay_step.dur is 'From its start to the start of the next as recorded, ns; of the last to its end, or to the end of all GPU work when that is later.';
comment on column replay_step.predicted is 'The same in the replay, ns.';
comment on column replay_step.error is '|predicted - dur| / dur.';

create table if not exists critical_path (
    trace_id integer not null,
    segment integer not null,
    step integer not null,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    kind varchar not null,
    edge varchar,
    cause varchar not null,
    slice_id bigint,
    thread_id integer,
    device integer,
    stream bigint,
    name varchar,
    operator varchar,
    unexplained bigint not null
);
comment on table critical_path is 'One row per segment of the critical path of the counted steps: what each instant waited for. The segments of a step follow one another and add up to it.';
comment on column critical_path.segment is 'Number of the segment in the order of time, from 0.';
comment on column critical_path.step is 'Step it elapsed in.';
comment on column critical_path.kind is 'host (a thread works), gpu (a kernel or memset runs), transfer (a copy or collective runs) or wait (something has ended and what follows has not begun).';
comment on column critical_path.edge is 'Of a wait the kind of its edge, as in dependency, or start: before anything that is known; NULL of other segments.';
comment on column critical_path.cause is 'As in time_ledger: of GPU work its category; of the host what idle time it would cause; of waits idle_launch_latency, idle_dependency, idle_sync or idle_earlier_work.';
comment on column critical_path.slice_id is 'The gpu_slice that runs or is waited for, or the innermost cpu_slice; NULL where the thread was in none.';
comment on column critical_path.thread_id is 'Thread of a host segment; NULL of others.';
comment on column critical_path.device is 'Device of GPU work; NULL of the host.';
comment on column critical_path.stream is 'Stream of GPU work; NULL of the host, or when unknown.';
comment on column critical_path.name is 'Name of the slice.';
comment on column critical_path.operator is 'Operator around the slice or around its launch; NULL when there is none.';
comment on column critical_path.unexplained is 'Of a wait the part for which the trace gives no reason, ns.';

create table if not exists replay (
    trace_id integer not null,
    scenario varchar not null,
    removable bigint not null,
    saved bigint,
    share double,
    share_low double,
    share_high double,
    error double,
    saved_low bigint,
    saved_high bigint,
    saved_quarter bigint,
    on_path bigint,
    unexplained double
);
comment on table replay is 'One row per scenario: the counted steps executed again with the time of one cause taken away. Definition: docs/metrics.md.';
comment on column replay.scenario is 'What is taken away: a category of time_ledger (idle_sync: nothing waits for the GPU), data_in_workers (idle_data moves into worker processes), communication_waiting (collectives as fast as the fastest of their class), communication_overlap and copies_overlap (beside the kernels, on streams of their own), communication_half (collectives move half the bytes), launch_graph (one CUDA graph a stretch: the host does not prepare and launch kernels), fusion (kernels that compute, with the host''s time to launch them), or host_preempted (no thread stands still, see host_stall; likely is for a job whose other ranks are in the same place).';
comment on column replay.removable is 'Time of the critical device that the ledger holds for it over the counted steps, ns; of idle_sync also the rest of the gaps that synchronizing calls drained.';
comment on column replay.saved is 'Time by which the replayed steps get shorter together, ns. NULL when the replay is more than 3 % off, or more than 5 % of the critical path is unexplained: then only the bounds stand. NULL also of idle_unattributed, whose cause is not known.';
comment on column replay.saved_low is 'Least of it, ns: what is unexplained on the critical path, and what the replay is off, might take its place. 0 of idle_unattributed.';
comment on column replay.saved_high is 'Most of it, ns: the same might go with it; not more than the cause has on the critical path (on_path).';
comment on column replay.saved_quarter is 'What a quarter of the change saves, ns. More never saves less, and the first quarter saves most.';
comment on column replay.on_path is 'Time of the scenario on the critical path of the counted steps, ns: no change of it can save more. NULL of scenarios that are no category.';
comment on column replay.share is 'saved over removable, at most 1: what is left of an upper bound when other waits take the place of the one removed. NULL as saved.';
comment on column replay.share_low is 'saved_low over removable, at most 1.';
comment on column replay.share_high is 'saved_high over removable, at most 1.';
comment on column replay.error is 'How far the replay with nothing changed, in which each half of the steps is predicted from the other, is from what was recorded, as a share of it.';
comment on column replay.unexplained is 'Share of the critical path for which the trace gives no reason.';
