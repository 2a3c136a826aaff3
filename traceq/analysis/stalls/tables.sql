-- Where the host stood still, and the idle time of GPUs in it.

create table if not exists host_stall (
    trace_id integer not null,
    stall_id integer not null,
    thread_id integer not null,
    slice_id bigint,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    usual bigint,
    place varchar not null,
    does_nothing boolean not null
);
comment on table host_stall is 'One row per stretch of a launching thread of 1 ms and more without any boundary of a slice, in a place where a stretch takes 50 us at most as a rule, and not a twentieth of this: the thread did not run. Definition: docs/metrics.md.';
comment on column host_stall.stall_id is 'Number of the stall within its trace, by thread and time.';
comment on column host_stall.thread_id is 'Thread.';
comment on column host_stall.slice_id is 'The innermost cpu_slice open; NULL for none.';
comment on column host_stall.usual is 'Median length of a stretch in slices of this name (place between: also between the same two), ns; NULL elsewhere.';
comment on column host_stall.place is 'call (inside an operator or a CUDA call itself), python (in a function of Python itself), between (in no slice, or a range only: the same two neighbours are there at least five times), elsewhere (between calls at places that are too seldom to know them, where calls stand still as often for their time), or off_core (the scheduler had the thread off its core, in no call of the operating system, where those are recorded).';
comment on column host_stall.does_nothing is 'Whether the call by its name works on no data and waits for nothing: views and empty tensors, records of events, queries.';

create table if not exists stall_cost (
    trace_id integer not null,
    stall_id integer not null,
    cause varchar not null,
    gap_id bigint,
    slice_id bigint,
    dur bigint not null
);
comment on table stall_cost is 'One row per stall and gap, cause and collective: what a GPU idled because the late thread stood still, then or in gaps that it came late to afterwards, and what a collective took beyond a transfer while a thread of its process stood still. The latter is lost only if the other ranks stood still as well: without that they had been waited for.';
comment on column stall_cost.stall_id is 'Stall; see host_stall.';
comment on column stall_cost.cause is 'As in idle_gap_cause, or communication.';
comment on column stall_cost.gap_id is 'Gap; see idle_gap. NULL for communication.';
comment on column stall_cost.slice_id is 'Collective; see collective_slice. NULL for idle time.';
comment on column stall_cost.dur is 'Time, ns: of idle_gap_cause.dur, or of collective_slice.exposed.';
