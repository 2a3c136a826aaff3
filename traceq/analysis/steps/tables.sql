-- What recurs in a trace, and which part of it is judged. Definitions: docs/metrics.md.

create table if not exists unit (
    trace_id integer not null,
    unit integer not null,
    level varchar not null,
    source varchar not null,
    name varchar not null,
    count bigint not null,
    period bigint,
    launches bigint,
    coverage double,
    share double,
    is_step boolean not null,
    is_possible boolean not null,
    evidence varchar not null
);
comment on table unit is 'One row per level at which a trace recurs: what contains the steps, the steps, what is inside them. Definition: docs/metrics.md.';
comment on column unit.unit is 'Number within the trace, from 0, the longest first.';
comment on column unit.level is 'epoch (holds several steps), step, micro_batch, layer or piece (inside a step); window where no step was found: what is judged instead.';
comment on column unit.source is 'What marks it: as step.source, or recurrence (of launches) for what recurs inside a step.';
comment on column unit.name is 'Name of the annotations with # for digits, or what stands for it.';
comment on column unit.count is 'How many whole ones the trace holds.';
comment on column unit.period is 'Median time from the start of one to the start of the next, ns; of the only one its length; NULL when unknown.';
comment on column unit.launches is 'Launches in each; NULL when they differ or were not counted.';
comment on column unit.coverage is 'Share of all launches that lie in it, 0 to 1 (of operators, without a GPU); NULL when not counted.';
comment on column unit.share is 'Share of launches that are the same as those one period later, 0 to 1; NULL for what is found otherwise.';
comment on column unit.is_step is 'Whether the steps of the table step are these.';
comment on column unit.is_possible is 'Whether it may be the step for all that the trace shows; more than one such row: choose with --step-range, --steps-per or --window.';
comment on column unit.evidence is 'What shows that it is of this level.';

create table if not exists phase_of_run (
    trace_id integer not null,
    phase varchar not null,
    ts bigint not null,
    dur bigint not null,
    share double,
    gpu_busy bigint not null,
    text varchar not null
);
comment on table phase_of_run is 'One row per phase of a trace, in the order of time; together they are the trace. Definition: docs/metrics.md.';
comment on column phase_of_run.phase is 'start_up (before the steps or the window), left_out (leading or trailing steps that do not count: warm-up, cut by the capture, outside of --window), window (what is judged), tail (after it).';
comment on column phase_of_run.share is 'Of the whole trace, 0 to 1; NULL for a trace without duration.';
comment on column phase_of_run.gpu_busy is 'Time in it in which any GPU has work, ns.';
comment on column phase_of_run.text is 'What it is, in words.';
