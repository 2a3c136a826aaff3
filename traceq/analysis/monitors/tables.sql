-- What monitors said in each step. Their samples are rows of counter with a log_id; docs/monitors.md has the names.

create table if not exists monitor_step (
    trace_id integer not null,
    step integer not null,
    device integer,
    instance varchar,
    name varchar not null,
    unit varchar,
    samples bigint not null,
    mean double not null,
    lowest double not null,
    highest double not null
);
comment on table monitor_step is 'One row per step and series of a log of a monitor that has samples of it. Processes and single CPUs are in counter only.';
comment on column monitor_step.device is 'Device; NULL for the host.';
comment on column monitor_step.instance is 'Disk or network interface; NULL for all of the host.';
comment on column monitor_step.name is 'Series, as in counter.name.';
comment on column monitor_step.unit is 'Unit of mean, lowest and highest; NULL for counts.';
comment on column monitor_step.samples is 'Samples whose time overlaps the step.';
comment on column monitor_step.mean is 'Mean over the time of the step that they cover.';
comment on column monitor_step.lowest is 'Lowest of them.';
comment on column monitor_step.highest is 'Highest of them.';
