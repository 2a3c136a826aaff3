-- The tables that hold the first analysis, filled once after ingest by the files beside this one.

create table step (
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
comment on column step.trace_id is 'Trace.';
comment on column step.step is 'Number of the step within its trace, from 0 in the order of time.';
comment on column step.name is 'Name of the annotation that marks it, or what stands for it.';
comment on column step.source is 'How steps were found: step_range, mark (a mark of traceq.annotate), profiler_step, annotation, optimizer, or whole_trace when nothing marks them.';
comment on column step.thread_id is 'Thread whose annotations mark the steps; NULL for whole_trace.';
comment on column step.ts is 'Start, ns.';
comment on column step.dur is 'From its start to the start of the next step, ns; the last lasts to its own end or the end of the last GPU work it launched.';
comment on column step.ts_end is 'End, ns: ts + dur.';
comment on column step.gpu_ts is 'Start of the first GPU slice launched in it, ns; NULL when it launched none.';
comment on column step.gpu_dur is 'From that start to the end of the last GPU slice launched in it, ns.';
comment on column step.excluded is 'Why the step is left out of statistics (warm-up); NULL when it counts.';

create table device_activity (
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
comment on column device_activity.trace_id is 'Trace.';
comment on column device_activity.device is 'Device.';
comment on column device_activity.step is 'Step the segment elapsed in (not the step its work was launched in); NULL outside all steps.';
comment on column device_activity.ts is 'Start, ns.';
comment on column device_activity.dur is 'Duration, ns.';
comment on column device_activity.compute is 'Compute kernels running.';
comment on column device_activity.communication is 'Communication kernels and peer copies of collectives running.';
comment on column device_activity.copy_h2d is 'Host-to-device copies running.';
comment on column device_activity.copy_d2h is 'Device-to-host copies running.';
comment on column device_activity.copy_other is 'Other copies running (d2d, p2p, h2h, unified memory).';
comment on column device_activity.memset is 'Memsets running.';
comment on column device_activity.graph is 'CUDA graphs running that were traced as a whole.';
comment on column device_activity.category is 'What the segment counts as in time_ledger: the first that runs of compute (or graph), communication, copy_h2d, copy_d2h, copy_other, memset; else idle.';

create table time_ledger (
    trace_id integer not null,
    device integer not null,
    step integer not null,
    category varchar not null,
    dur bigint not null
);
comment on table time_ledger is 'One row per device, step and category that has time; per device and step the parts add up to step.dur exactly.';
comment on column time_ledger.trace_id is 'Trace.';
comment on column time_ledger.device is 'Device.';
comment on column time_ledger.step is 'Step the time elapsed in.';
comment on column time_ledger.category is 'compute; communication (exposed: no compute at that time); copy_h2d, copy_d2h, copy_other (exposed); memset; idle.';
comment on column time_ledger.dur is 'Time, ns.';

create table step_stats (
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
comment on column step_stats.trace_id is 'Trace.';
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
