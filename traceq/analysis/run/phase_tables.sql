-- The whole run from its logs: its attempts, and the ledger of its wall time.

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
