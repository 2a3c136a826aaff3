-- What importers deliver before it is joined up: slices without nesting, launches and steps.
-- Lives in an attached in-memory database that is thrown away after the ingest.

create table staging.cpu_slice (
    slice_id bigint not null,
    thread_id integer not null,
    kind varchar not null,
    category varchar,
    name varchar not null,
    ts bigint not null,
    dur bigint not null,
    correlation_id bigint,
    external_id bigint,
    is_async boolean default false,
    args varchar using compression zstd
);

create table staging.gpu_slice as
select * exclude (trace_id, ts_end, launch_id, step, is_communication)
from gpu_slice
limit 0;

create table staging.collective as
select * exclude (trace_id), null::bigint as external_id
from collective
limit 0;

create table staging.thread_switch (
    thread_id integer not null,
    ts bigint not null,
    on_cpu boolean not null,
    cpu integer,
    reason varchar
);

-- Samples of threads' Python stacks; frames are lines, from the outermost on.
create table staging.python_sample (
    thread_id integer not null,
    ts bigint not null,
    period_ns bigint not null,
    frames varchar not null
);

-- Python's garbage collections; the older the objects of a generation, the higher is its number.
create table staging.collection (
    thread_id integer not null,
    ts bigint not null,
    dur bigint not null,
    generation integer not null
);
