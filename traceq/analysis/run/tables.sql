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

--: One row per attempt of a run, from a start of the program to its end or failure; the time between two attempts
--: belongs to the later one. Times are ns since 1970 UTC where the zone of the logs is known, else of their own clock.
create table if not exists run_attempt (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Attempt, counted from 1 over all logs of the run.
    attempt integer not null,
    --: Begin, ns: the end of the attempt before, or the first time known.
    at_ns bigint not null,
    --: Time to its end, ns.
    dur bigint not null,
    --: When the program started for the last time before the first step, ns; NULL: no log says it.
    started_at bigint,
    --: When the first step began, ns.
    first_step_at bigint not null,
    --: When it failed, else its last sign of life, ns.
    ended_at bigint not null,
    --: Number of the first step that it did.
    first_step bigint not null,
    --: Number of the last step that it logged.
    last_step bigint not null,
    --: Steps that its lines stand for.
    steps bigint not null,
    --: Steps that were done again later, or that no checkpoint holds: those after the point where the next attempt
    --: began. NULL: cannot tell, as the run failed for good and no log tells of a checkpoint.
    lost_steps bigint,
    --: Number of the last step that a checkpoint of this attempt holds; NULL: none is logged.
    checkpoint_step bigint,
    --: failure, preemption or restart (no log tells of a failure, yet another attempt follows); NULL: it ended well, or
    --: the logs end before.
    ended_by varchar,
    --: What logs and scheduler say about its end.
    reason varchar,
    --: GPUs that it had; NULL: no log says it.
    gpus integer,
    --: Log whose lines tell of its steps; see run_log.
    log_id integer not null,
    --: Log that tells of its failure.
    failure_log_id integer,
    --: Line of that log.
    failure_line bigint
);

--: One row per uninterrupted stretch of one category: the ledger of a run. The stretches of a run neither overlap nor
--: leave a gap: they add up to the time from the first to the last moment known from all its logs, to the ns.
create table if not exists run_phase (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Attempt that it belongs to; see run_attempt. NULL: the logs hold no step.
    attempt integer,
    --: Begin, ns, as in run_attempt.
    at_ns bigint not null,
    --: Length, ns.
    dur bigint not null,
    --: step (steps that count), lost (steps that were done again later, or ended in a failure), compile, data,
    --: evaluation, checkpoint, start_up, hang (from the last sign of life to a failure), restart (from a failure to the
    --: next start), queue (the scheduler lets it wait), not_submitted (between two jobs), idle (allocated, and nothing
    --: runs), unattributed (between two lines, and neither says what it was).
    category varchar not null,
    --: Whether no log says it in so many words: compilation as the excess of first steps over the usual one.
    is_inferred boolean not null,
    --: GPUs that were held; NULL: no log says it.
    gpus integer,
    --: Log that says it, where an event does; see run_log.
    log_id integer,
    --: Line of that log.
    line bigint
);
