-- The whole run, as training logs beside the trace tell it: lines, steps, events, and where the captured steps lie among them.
-- Numbers of steps are the log's. docs/run-logs.md.

--: One row per step, or mean of several, of a training log: what it says of an attempt and number of step.
create table if not exists run_step (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see run_log.
    log_id integer not null,
    --: Attempt, from 1: a new one begins where the number of the step falls back, and where the log says that the
    --: program started anew.
    attempt bigint not null,
    --: Number of the step as the log counts; of several the last.
    step bigint not null,
    --: First line that says it.
    line bigint not null,
    --: When it was written, which is its end, ns since 1970: in UTC where run_log.shift is known, else as the log's
    --: clock reads; NULL without a time.
    at_ns bigint,
    --: Time a step, ns; NULL where neither the log nor the times of its lines tell.
    dur bigint,
    --: Steps that the row stands for.
    steps bigint not null,
    --: Where dur is from: logged, or between_lines (time from the row before, all that happened in it included); NULL
    --: without dur.
    dur_from varchar,
    --: Loss; NULL where the log does not say it.
    loss double,
    --: Throughput, in throughput_unit; NULL where the log does not say it.
    throughput double,
    --: Unit of throughput; NULL without it.
    throughput_unit varchar,
    --: Memory of the GPU, bytes; NULL where the log does not say it.
    memory double,
    --: Model FLOPs utilization, 0 to 1; NULL where the log does not say it.
    mfu double,
    --: Tokens so far, or of the step, as the log counts them; NULL where it does not say.
    tokens double
);

--: One row per training log in which the captured steps could be placed.
create table if not exists run_window (
    --: Trace.
    trace_id integer not null,
    --: Log; see run_log.
    log_id integer not null,
    --: Attempt of run_step that the window lies in.
    attempt bigint not null,
    --: First step of the log in the window, as the log counts.
    first_step bigint not null,
    --: Last step of the log in the window.
    last_step bigint not null,
    --: Steps in it.
    steps bigint not null,
    --: Median time a step in the window, as the log says it, ns.
    step_dur bigint not null,
    --: Median time a step of all steps, those of start-up left aside, ns.
    run_step_dur bigint not null,
    --: Steps of the run that run_step_dur is of.
    run_steps bigint not null,
    --: Share of the steps of the run that are faster than those of the window, percent: 50 is usual; those that take as
    --: long count half.
    percentile double not null,
    --: step_dur divided by run_step_dur.
    ratio double not null,
    --: Median step in the trace divided by step_dur; NULL where the trace has no steps that count.
    trace_ratio double,
    --: What placed it: clock or step_number.
    placed_by varchar not null
);
