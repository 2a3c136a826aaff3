-- Steps, what GPUs and the host did in them, and the ledgers. Filled once, when a trace is read: step and step_stats by
-- analysis/steps, launch_state by analysis/launches, all others by the files beside this one.

create table if not exists step (
    trace_id integer not null,
    step integer not null,
    name varchar not null,
    source varchar not null,
    thread_id integer,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    gpu_ts bigint,
    gpu_dur bigint,
    excluded varchar
);
comment on table step is 'One row per training step; steps follow one another without gaps. Definition: docs/metrics.md.';
comment on column step.step is 'Number of the step within its trace, from 0 in the order of time.';
comment on column step.name is 'Name of the annotation that marks it, or what stands for it.';
comment on column step.source is 'How steps were found: step_range, mark (a mark of traceq.annotate), profiler_step, annotation, optimizer, recurrence (the same launches or collectives over and over), or window when nothing marks them.';
comment on column step.thread_id is 'Thread whose annotations mark the steps, or whose launches recur; NULL for window and where the launching calls are not in the trace.';
comment on column step.dur is 'From its start to the start of the next step, ns; the last lasts to its own end or the end of the last GPU work it launched.';
comment on column step.gpu_ts is 'Start of the first GPU slice launched in it, ns; NULL when it launched none.';
comment on column step.gpu_dur is 'From that start to the end of the last GPU slice launched in it, ns.';
comment on column step.excluded is 'Why the step is left out of statistics (warm-up); NULL when it counts.';

create table if not exists device_activity (
    trace_id integer not null,
    device integer not null,
    step integer,
    ts bigint not null,
    dur bigint not null,
    compute integer not null,
    communication integer not null,
    copy_h2d integer not null,
    copy_d2h integer not null,
    copy_other integer not null,
    memset integer not null,
    graph integer not null,
    category varchar not null
);
comment on table device_activity is 'One row per segment of a device''s timeline, cut at every start and end of a GPU slice and of a step.';
comment on column device_activity.step is 'Step the segment elapsed in (not the step its work was launched in); NULL outside all steps.';
comment on column device_activity.compute is 'Compute kernels running.';
comment on column device_activity.communication is 'Communication kernels and peer copies of collectives running.';
comment on column device_activity.copy_h2d is 'Host-to-device copies running.';
comment on column device_activity.copy_d2h is 'Device-to-host copies running.';
comment on column device_activity.copy_other is 'Other copies running (d2d, p2p, h2h, unified memory).';
comment on column device_activity.memset is 'Memsets running.';
comment on column device_activity.graph is 'CUDA graphs running that were traced as a whole.';
comment on column device_activity.category is 'What the segment counts as in time_ledger: the first that runs of compute (or graph), communication, copy_h2d, copy_d2h, copy_other, memset; else idle.';

create table if not exists launch_state (
    trace_id integer not null,
    slice_id bigint not null,
    phase varchar not null,
    queue_depth bigint not null
);
comment on table launch_state is 'One row per GPU slice whose launching call is in the trace: what the view launch adds to the slices themselves.';
comment on column launch_state.phase is 'data, forward, backward, optimizer or other: of the launching call, else of the training thread at that time.';
comment on column launch_state.queue_depth is 'Launches on the same device that had not started when this one was made; 0 says that the device was waiting for it. A graph is one launch.';

create table if not exists stream_wait (
    trace_id integer not null,
    slice_id bigint not null,
    device integer,
    stream bigint,
    ts bigint not null,
    recorded bigint,
    waited_for_id bigint,
    finished bigint,
    next_slice_id bigint
);
comment on table stream_wait is 'One row per wait of a stream for an event (synchronization of kind stream_wait_event), with the work on both sides of it.';
comment on column stream_wait.slice_id is 'The synchronization.';
comment on column stream_wait.device is 'Device of the stream that waits.';
comment on column stream_wait.stream is 'The stream that waits.';
comment on column stream_wait.ts is 'When the wait was asked for, ns.';
comment on column stream_wait.recorded is 'When the recording of the event was asked for, ns; NULL when that call is not in the trace.';
comment on column stream_wait.waited_for_id is 'gpu_slice launched last on the event''s stream before the event was recorded; NULL when unknown.';
comment on column stream_wait.finished is 'When all work on the event''s stream launched until then had ended, ns; NULL when unknown.';
comment on column stream_wait.next_slice_id is 'gpu_slice launched first on the waiting stream after the wait; NULL when none was.';

create table if not exists idle_gap (
    trace_id integer not null,
    gap_id bigint not null,
    device integer not null,
    step integer not null,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    next_slice_id bigint,
    launch_slice_id bigint,
    thread_id integer,
    drained_by bigint,
    cause varchar not null,
    cpu_slice_id bigint,
    annotation varchar,
    operator varchar,
    late_after bigint
);
comment on table idle_gap is 'One row per interval of a step in which nothing runs on a device. Definition: docs/metrics.md.';
comment on column idle_gap.gap_id is 'Number of the gap within its trace, by device and time.';
comment on column idle_gap.step is 'Step it elapsed in; a gap that crosses the start of a step is two.';
comment on column idle_gap.next_slice_id is 'gpu_slice that starts first at or after its end; NULL when none does.';
comment on column idle_gap.launch_slice_id is 'cpu_slice of the call that launched that work; NULL when it is not in the trace.';
comment on column idle_gap.thread_id is 'Thread whose doings explain the gap: the launching one, after the last work the training thread; NULL when unknown.';
comment on column idle_gap.drained_by is 'cpu_slice of the synchronizing call that held this thread when the device ran dry; NULL when none did.';
comment on column idle_gap.cause is 'The cause with the most time in it.';
comment on column idle_gap.cpu_slice_id is 'The host slice with the most time of that cause; NULL when none was open.';
comment on column idle_gap.annotation is 'Innermost annotation around that slice, or the slice itself.';
comment on column idle_gap.operator is 'Innermost operator around that slice, or the slice itself.';
comment on column idle_gap.late_after is 'cpu_slice of the synchronizing call that is most to blame for the gap: drained_by, else the one that most of it is owed to (wait_debt). NULL for none.';

create table if not exists wait_debt (
    trace_id integer not null,
    gap_id bigint not null,
    slice_id bigint not null,
    dur bigint not null
);
comment on table wait_debt is 'One row per gap and synchronizing call without which the gap would be shorter: the host came late to it because that call had held it before. Beside the time in which the call itself still waits. Definition: docs/metrics.md.';
comment on column wait_debt.slice_id is 'cpu_slice of the call.';
comment on column wait_debt.dur is 'By how much the gap would be shorter, ns. Those of a gap add up to its duration at most, those of a call to how long it held the host until the device ran dry.';

create table if not exists idle_gap_cause (
    trace_id integer not null,
    gap_id bigint not null,
    cause varchar not null,
    ts bigint not null,
    dur bigint not null,
    cpu_slice_id bigint,
    slice_dur bigint
);
comment on table idle_gap_cause is 'One row per gap and cause; per gap the parts add up to idle_gap.dur exactly.';
comment on column idle_gap_cause.cause is 'idle_data, idle_sync, idle_allocation, idle_compile, idle_launch, idle_python, idle_cpu, idle_os, idle_checkpoint, idle_communication, idle_dependency, idle_launch_latency, idle_earlier_work, idle_profiler or idle_unattributed.';
comment on column idle_gap_cause.ts is 'Where it begins first, ns.';
comment on column idle_gap_cause.dur is 'Time in all, ns; it need not be in one piece.';
comment on column idle_gap_cause.cpu_slice_id is 'The host slice with the most time of this cause; NULL when none was open. Of idle_launch_latency, idle_dependency and idle_earlier_work the launching call.';
comment on column idle_gap_cause.slice_dur is 'The time in that slice itself, ns; the rest was spent in others, see idle_culprit. NULL where the host was not late, or in no slice.';

create table if not exists idle_culprit (
    trace_id integer not null,
    gap_id bigint not null,
    cause varchar not null,
    slice_id bigint not null,
    dur bigint not null
);
comment on table idle_culprit is 'One row per gap, cause and host slice that was innermost on the late thread for some of it: by overlap, so that no slice has more than its own length on a device. Per gap and cause the parts add up to idle_gap_cause.dur, but for what has no slice: idle_launch_latency, idle_dependency and idle_earlier_work (the host was not late), and parts of idle_unattributed and idle_profiler.';
comment on column idle_culprit.slice_id is 'The cpu_slice; what is nested in it has rows of its own.';
comment on column idle_culprit.dur is 'Time of the gap in which it was the innermost slice, ns; it need not be in one piece.';

create table if not exists idle_sample (
    trace_id integer not null,
    gap_id bigint not null,
    cause varchar not null,
    slice_id bigint,
    symbol varchar,
    module varchar,
    caller varchar,
    samples bigint not null
);
comment on table idle_sample is 'One row per gap, cause, host slice and function: samples (cpu_sample) of the late thread taken in that part of the gap. Gaps are shorter than the time between samples as a rule: shares of many gaps tell something, a single gap does not.';
comment on column idle_sample.slice_id is 'cpu_slice that was innermost on the thread; NULL when none was open.';
comment on column idle_sample.symbol is 'As in cpu_sample.';
comment on column idle_sample.module is 'As in cpu_sample.';
comment on column idle_sample.caller is 'As in cpu_sample.';
comment on column idle_sample.samples is 'Samples.';

create table if not exists host_ledger (
    trace_id integer not null,
    step integer not null,
    thread_id integer not null,
    category varchar not null,
    phase varchar not null,
    dur bigint not null
);
comment on table host_ledger is 'One row per step, category and phase of the training thread''s own time; per step the parts add up to step.dur exactly.';
comment on column host_ledger.step is 'Step the time elapsed in.';
comment on column host_ledger.thread_id is 'The training thread: the one that marks the steps, else the one that launches most, else the one with most operators.';
comment on column host_ledger.category is 'What its innermost slice is: data, checkpoint, compile (contexts); synchronization, allocation, communication, launch, operator, python, annotation, os, profiler, other; none when no slice is open.';
comment on column host_ledger.phase is 'data, forward, backward, optimizer, or other when neither a name nor a number of autograd''s graph tells.';
comment on column host_ledger.dur is 'Time, ns.';

create table if not exists time_ledger (
    trace_id integer not null,
    device integer not null,
    step integer not null,
    category varchar not null,
    dur bigint not null
);
comment on table time_ledger is 'One row per device, step and category that has time; per device and step the parts add up to step.dur exactly.';
comment on column time_ledger.step is 'Step the time elapsed in.';
comment on column time_ledger.category is 'compute; communication (exposed: no compute at that time); copy_h2d, copy_d2h, copy_other (exposed); memset; idle_* (see idle_gap_cause.cause).';
comment on column time_ledger.dur is 'Time, ns.';

create table if not exists step_stats (
    trace_id integer not null,
    steps bigint not null,
    excluded bigint not null,
    total bigint,
    mean double,
    stddev double,
    min bigint,
    p50 double,
    p90 double,
    p95 double,
    p99 double,
    max bigint
);
comment on table step_stats is 'One row per trace: statistics of the durations of its steps, excluded ones left out.';
comment on column step_stats.steps is 'Steps counted.';
comment on column step_stats.excluded is 'Steps left out; step.excluded says why.';
comment on column step_stats.total is 'Sum, ns.';
comment on column step_stats.mean is 'Mean, ns.';
comment on column step_stats.stddev is 'Sample standard deviation, ns; NULL below two steps.';
comment on column step_stats.min is 'Shortest, ns.';
comment on column step_stats.p50 is 'Median, ns, interpolated as are all percentiles.';
comment on column step_stats.p90 is '90th percentile, ns.';
comment on column step_stats.p95 is '95th percentile, ns.';
comment on column step_stats.p99 is '99th percentile, ns.';
comment on column step_stats.max is 'Longest, ns.';
