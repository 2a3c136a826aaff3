-- What monitors said in each step. Their samples are rows of counter with a log_id; docs/monitors.md has the names.

--: One row per step and series of a log of a monitor that has samples of it. Processes and single CPUs are in counter
--: only.
create table if not exists monitor_step (
    --: Trace.
    trace_id integer not null,
    --: Step.
    step integer not null,
    --: Device; NULL for the host.
    device integer,
    --: Disk or network interface; NULL for all of the host.
    instance varchar,
    --: Series, as in counter.name.
    name varchar not null,
    --: Unit of mean, lowest and highest; NULL for counts.
    unit varchar,
    --: Samples whose time overlaps the step.
    samples bigint not null,
    --: Mean over the time of the step that they cover.
    mean double not null,
    --: Lowest of them.
    lowest double not null,
    --: Highest of them.
    highest double not null
);
