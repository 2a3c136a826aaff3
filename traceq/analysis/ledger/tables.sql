-- Steps, what GPUs and the host did in them, and the ledgers. Filled once, when a trace is read: step and step_stats by
-- analysis/steps, launch_state by analysis/launches, all others by the files beside this one.

--: One row per training step; steps follow one another without gaps. Definition: docs/metrics.md.
create table if not exists step (
    --: Trace.
    trace_id integer not null,
    --: Number of the step: the program's own where all names of steps end in one (ProfilerStep#5), rising but with gaps
    --: where the program leaves some out; else counted from 0 in the order of time, as for steps that nothing marks.
    step integer not null,
    --: Name of the annotation that marks it, or what stands for it.
    name varchar not null,
    --: How steps were found: step_range, mark (a mark of traceq.annotate), profiler_step, annotation, optimizer,
    --: recurrence (the same launches or collectives over and over), or window when nothing marks them.
    source varchar not null,
    --: Thread whose annotations mark the steps, or whose launches recur; NULL for window and where the launching calls
    --: are not in the trace.
    thread_id integer,
    --: Start, ns.
    ts bigint not null,
    --: From its start to the start of the next step, ns; the last lasts to its own end or the end of the last GPU work
    --: it launched.
    dur bigint not null,
    --: End, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: Start of the first GPU slice launched in it, ns; NULL when it launched none.
    gpu_ts bigint,
    --: From that start to the end of the last GPU slice launched in it, ns.
    gpu_dur bigint,
    --: Why the step is left out of statistics (warm-up); NULL when it counts.
    excluded varchar
);

--: One row per segment of a device's timeline, cut at every start and end of a GPU slice and of a step.
create table if not exists device_activity (
    --: Trace.
    trace_id integer not null,
    --: Device.
    device integer not null,
    --: Step the segment elapsed in (not the step its work was launched in); NULL outside all steps.
    step integer,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: Compute kernels running.
    compute integer not null,
    --: Communication kernels and peer copies of collectives running.
    communication integer not null,
    --: Host-to-device copies running.
    copy_h2d integer not null,
    --: Device-to-host copies running.
    copy_d2h integer not null,
    --: Other copies running (d2d, p2p, h2h, unified memory).
    copy_other integer not null,
    --: Memsets running.
    memset integer not null,
    --: CUDA graphs running that were traced as a whole.
    graph integer not null,
    --: What the segment counts as in time_ledger: the first that runs of compute (or graph), communication, copy_h2d,
    --: copy_d2h, copy_other, memset; else idle.
    category varchar not null
);

--: One row per GPU slice whose launching call is in the trace: what the view launch adds to the slices themselves.
create table if not exists launch_state (
    --: Trace.
    trace_id integer not null,
    --: The gpu_slice.
    slice_id bigint not null,
    --: data, forward, backward, optimizer or other: of the launching call, else of the training thread at that time.
    phase varchar not null,
    --: Launches on the same device that had not started when this one was made; 0 says that the device was waiting for
    --: it. A graph is one launch.
    queue_depth bigint not null
);

--: One row per wait of a stream for an event (synchronization of kind stream_wait_event), with the work on both sides
--: of it.
create table if not exists stream_wait (
    --: Trace.
    trace_id integer not null,
    --: The synchronization.
    slice_id bigint not null,
    --: Device of the stream that waits.
    device integer,
    --: The stream that waits.
    stream bigint,
    --: When the wait was asked for, ns.
    ts bigint not null,
    --: When the recording of the event was asked for, ns; NULL when that call is not in the trace.
    recorded bigint,
    --: gpu_slice launched last on the event's stream before the event was recorded; NULL when unknown.
    waited_for_id bigint,
    --: When all work on the event's stream launched until then had ended, ns; NULL when unknown.
    finished bigint,
    --: gpu_slice launched first on the waiting stream after the wait; NULL when none was.
    next_slice_id bigint
);

--: One row per interval of a step in which nothing runs on a device. Definition: docs/metrics.md.
create table if not exists idle_gap (
    --: Trace.
    trace_id integer not null,
    --: Number of the gap within its trace, by device and time.
    gap_id bigint not null,
    --: Device.
    device integer not null,
    --: Step it elapsed in; a gap that crosses the start of a step is two.
    step integer not null,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: End, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: gpu_slice that starts first at or after its end; NULL when none does.
    next_slice_id bigint,
    --: cpu_slice of the call that launched that work; NULL when it is not in the trace.
    launch_slice_id bigint,
    --: Thread whose doings explain the gap: the launching one, after the last work the training thread; NULL when
    --: unknown.
    thread_id integer,
    --: cpu_slice of the synchronizing call that held this thread when the device ran dry; NULL when none did.
    drained_by bigint,
    --: The cause with the most time in it.
    cause varchar not null,
    --: The host slice with the most time of that cause; NULL when none was open.
    cpu_slice_id bigint,
    --: Innermost annotation around that slice, or the slice itself.
    annotation varchar,
    --: Innermost operator around that slice, or the slice itself.
    operator varchar,
    --: cpu_slice of the synchronizing call that is most to blame for the gap: drained_by, else the one that most of it
    --: is owed to (wait_debt). NULL for none.
    late_after bigint
);

--: One row per gap and synchronizing call without which the gap would be shorter: the host came late to it because that
--: call had held it before. Beside the time in which the call itself still waits. Definition: docs/metrics.md.
create table if not exists wait_debt (
    --: Trace.
    trace_id integer not null,
    --: Gap; see idle_gap.
    gap_id bigint not null,
    --: cpu_slice of the call.
    slice_id bigint not null,
    --: By how much the gap would be shorter, ns. Those of a gap add up to its duration at most, those of a call to how
    --: long it held the host until the device ran dry.
    dur bigint not null
);

--: One row per gap and cause; per gap the parts add up to idle_gap.dur exactly.
create table if not exists idle_gap_cause (
    --: Trace.
    trace_id integer not null,
    --: Gap; see idle_gap.
    gap_id bigint not null,
    --: idle_data, idle_sync, idle_allocation, idle_compile, idle_launch, idle_python, idle_cpu, idle_os,
    --: idle_checkpoint, idle_communication, idle_dependency, idle_launch_latency, idle_earlier_work, idle_profiler or
    --: idle_unattributed.
    cause varchar not null,
    --: Where it begins first, ns.
    ts bigint not null,
    --: Time in all, ns; it need not be in one piece.
    dur bigint not null,
    --: The host slice with the most time of this cause; NULL when none was open. Of idle_launch_latency,
    --: idle_dependency and idle_earlier_work the launching call.
    cpu_slice_id bigint,
    --: The time in that slice itself, ns; the rest was spent in others, see idle_culprit. NULL where the host was not
    --: late, or in no slice.
    slice_dur bigint
);

--: One row per gap, cause and host slice that was innermost on the late thread for some of it: by overlap, so that no
--: slice has more than its own length on a device. Per gap and cause the parts add up to idle_gap_cause.dur, but for
--: what has no slice: idle_launch_latency, idle_dependency and idle_earlier_work (the host was not late), and parts of
--: idle_unattributed and idle_profiler.
create table if not exists idle_culprit (
    --: Trace.
    trace_id integer not null,
    --: Gap; see idle_gap.
    gap_id bigint not null,
    --: As in idle_gap_cause.
    cause varchar not null,
    --: The cpu_slice; what is nested in it has rows of its own.
    slice_id bigint not null,
    --: Time of the gap in which it was the innermost slice, ns; it need not be in one piece.
    dur bigint not null
);

--: One row per gap, cause, host slice and function: samples (cpu_sample) of the late thread taken in that part of the
--: gap. Gaps are shorter than the time between samples as a rule: shares of many gaps tell something, a single gap does
--: not.
create table if not exists idle_sample (
    --: Trace.
    trace_id integer not null,
    --: Gap; see idle_gap.
    gap_id bigint not null,
    --: As in idle_gap_cause.
    cause varchar not null,
    --: cpu_slice that was innermost on the thread; NULL when none was open.
    slice_id bigint,
    --: As in cpu_sample.
    symbol varchar,
    --: As in cpu_sample.
    module varchar,
    --: As in cpu_sample.
    caller varchar,
    --: Samples.
    samples bigint not null
);

--: One row per step, category and phase of the training thread's own time; per step the parts add up to step.dur
--: exactly.
create table if not exists host_ledger (
    --: Trace.
    trace_id integer not null,
    --: Step the time elapsed in.
    step integer not null,
    --: The training thread: the one that marks the steps, else the one that launches most, else the one with most
    --: operators.
    thread_id integer not null,
    --: What its innermost slice is: data, checkpoint, compile (contexts); synchronization, allocation, communication,
    --: launch, operator, python, annotation, os, profiler, other; none when no slice is open.
    category varchar not null,
    --: data, forward, backward, optimizer, or other when neither a name nor a number of autograd's graph tells.
    phase varchar not null,
    --: Time, ns.
    dur bigint not null
);

--: One row per device, step and category that has time; per device and step the parts add up to step.dur exactly.
create table if not exists time_ledger (
    --: Trace.
    trace_id integer not null,
    --: Device.
    device integer not null,
    --: Step the time elapsed in.
    step integer not null,
    --: compute; communication (exposed: no compute at that time); copy_h2d, copy_d2h, copy_other (exposed); memset;
    --: idle_* (see idle_gap_cause.cause).
    category varchar not null,
    --: Time, ns.
    dur bigint not null
);

--: One row per trace: statistics of the durations of its steps, excluded ones left out.
create table if not exists step_stats (
    --: Trace.
    trace_id integer not null,
    --: Steps counted.
    steps bigint not null,
    --: Steps left out; step.excluded says why.
    excluded bigint not null,
    --: Sum, ns.
    total bigint,
    --: Mean, ns.
    mean double,
    --: Sample standard deviation, ns; NULL below two steps.
    stddev double,
    --: Shortest, ns.
    min bigint,
    --: Median, ns, interpolated as are all percentiles.
    p50 double,
    --: 90th percentile, ns.
    p90 double,
    --: 95th percentile, ns.
    p95 double,
    --: 99th percentile, ns.
    p99 double,
    --: Longest, ns.
    max bigint
);
