-- The whole run, as training logs beside the trace tell it: lines, steps, events, and where the captured steps lie among them.
-- Numbers of steps are the log's. docs/run-logs.md.

--: One row per training log that was given. A run without a trace has trace_id 0.
create table if not exists run_log (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Number of the log within its trace, from 0.
    log_id integer not null,
    --: Name of the file, without its folder.
    file varchar not null,
    --: What wrote it: megatron, torchtitan, deepspeed, hugging_face, nemo, lightning, trainer_state, json_lines, wandb,
    --: tensorboard, or the name in the file of --log-format.
    format varchar not null,
    --: Its times: utc, local (of a zone that it does not name) or none.
    clock varchar not null,
    --: What to add to its times to have them since 1970 in UTC, ns; NULL where it is not known.
    shift bigint,
    --: Its first time, ns since 1970 as its own clock reads; NULL without times.
    first_at bigint,
    --: Its last time, as first_at.
    last_at bigint,
    --: GPUs (processes) of the job; NULL where it does not say.
    gpus bigint,
    --: Rank of the process that wrote it; NULL where it does not say.
    rank bigint,
    --: Lines or records in it.
    lines bigint not null,
    --: Of these, those that look like the format's and could not be read.
    lines_left_out bigint not null,
    --: What places the trace among its steps: clock or step_number; NULL where it is not placed.
    placed_by varchar,
    --: How it is placed, or why not, in words.
    reason varchar
);

--: One row per number that a training log says.
create table if not exists run_value (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see run_log.
    log_id integer not null,
    --: Line or record of the file, from 1.
    line bigint not null,
    --: Attempt, from 1; see run_step. NULL without a step.
    attempt bigint,
    --: Number of the step as the log counts; NULL where it does not say.
    step bigint,
    --: When it was written, ns since 1970 as the log's own clock reads; NULL without a time.
    at_ns bigint,
    --: step_time, loss, gradient_norm, learning_rate, throughput, memory, mfu, tokens, samples, epoch, or the log's name.
    quantity varchar not null,
    --: The number.
    value double not null,
    --: Unit: ns, bytes, share, tokens/s, ...; NULL for a number without one.
    unit varchar
);

--: One row per event that a training log tells of and that is no step.
create table if not exists run_event (
    --: Trace; 0 where logs were read without one.
    trace_id integer not null,
    --: Log; see run_log.
    log_id integer not null,
    --: Line or record of the file, from 1.
    line bigint not null,
    --: Its begin (its end for the mark end), ns since 1970 as the log's own clock reads; NULL without a time.
    at_ns bigint,
    --: Duration, ns; NULL except for the mark interval.
    dur bigint,
    --: begin, end, interval or moment.
    mark varchar not null,
    --: start_up, compile, data, evaluation, checkpoint, restart, idle or failure; of schedulers also queue and
    --: allocation (the time in which a job has its GPUs).
    phase varchar not null,
    --: Number of the step as the log counts; NULL where it does not say.
    step bigint,
    --: More on it, in a few words; NULL where there is no more.
    detail varchar
);

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
