-- What the readers of records deliver (traceq/importers/inspector): operations of ranks, and means of GPUs.
-- reads: inspected_sample

create table staging.inspected_record (
    file integer not null,
    host varchar,
    pid bigint,
    communicator varchar not null,
    communicator_name varchar,
    communicator_rank integer not null,
    group_size integer,
    nodes integer,
    op varchar not null,
    sequence bigint not null,
    peer integer,
    message_bytes bigint not null,
    dur bigint not null,
    timing varchar,
    algorithm varchar,
    protocol varchar,
    said_algorithm_bandwidth double,
    said_bus_bandwidth double,
    utc_ns bigint,
    utc_source varchar
);

create table staging.inspected_sample as
select * exclude (trace_id)
from inspected_sample
limit 0;
