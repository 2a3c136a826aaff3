-- What recurs in a trace, and which part of it is judged. Definitions: docs/metrics.md.

--: One row per level at which a trace recurs: what contains the steps, the steps, what is inside them. Definition:
--: docs/metrics.md.
create table if not exists unit (
    --: Trace.
    trace_id integer not null,
    --: Number within the trace, from 0, the longest first.
    unit integer not null,
    --: epoch (holds several steps), step, micro_batch, layer or piece (inside a step); window where no step was found:
    --: what is judged instead.
    level varchar not null,
    --: What marks it: as step.source, or recurrence (of launches) for what recurs inside a step.
    source varchar not null,
    --: Name of the annotations with # for digits, or what stands for it.
    name varchar not null,
    --: How many whole ones the trace holds.
    count bigint not null,
    --: Median time from the start of one to the start of the next, ns; of the only one its length; NULL when unknown.
    period bigint,
    --: Launches in each; NULL when they differ or were not counted.
    launches bigint,
    --: Share of all launches that lie in it, 0 to 1 (of operators, without a GPU); NULL when not counted.
    coverage double,
    --: Share of launches that are the same as those one period later, 0 to 1; NULL for what is found otherwise.
    share double,
    --: Whether the steps of the table step are these.
    is_step boolean not null,
    --: Whether it may be the step for all that the trace shows; more than one such row: choose with --step-range,
    --: --steps-per or --window.
    is_possible boolean not null,
    --: What shows that it is of this level.
    evidence varchar not null
);

--: One row per phase of a trace, in the order of time; together they are the trace. Definition: docs/metrics.md.
create table if not exists phase_of_run (
    --: Trace.
    trace_id integer not null,
    --: start_up (before the steps or the window), left_out (leading or trailing steps that do not count: warm-up, cut
    --: by the capture, outside of --window), window (what is judged), tail (after it).
    phase varchar not null,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: Of the whole trace, 0 to 1; NULL for a trace without duration.
    share double,
    --: Time in it in which any GPU has work, ns.
    gpu_busy bigint not null,
    --: What it is, in words.
    text varchar not null
);
