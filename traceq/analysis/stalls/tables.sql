-- Where the host stood still, and the idle time of GPUs in it.

--: One row per stretch of a launching thread of 1 ms and more without any boundary of a slice, in a place where a
--: stretch takes 50 us at most as a rule, and not a twentieth of this: the thread did not run. Definition:
--: docs/metrics.md.
create table if not exists host_stall (
    --: Trace.
    trace_id integer not null,
    --: Number of the stall within its trace, by thread and time.
    stall_id integer not null,
    --: Thread.
    thread_id integer not null,
    --: The innermost cpu_slice open; NULL for none.
    slice_id bigint,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: End, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: Median length of a stretch in slices of this name (place between: also between the same two), ns; NULL
    --: elsewhere.
    usual bigint,
    --: call (inside an operator or a CUDA call itself), python (in a function of Python itself), between (in no slice,
    --: or a range only: the same two neighbours are there at least five times), elsewhere (between calls at places that
    --: are too seldom to know them, where calls stand still as often for their time), or off_core (the scheduler had
    --: the thread off its core, in no call of the operating system, where those are recorded).
    place varchar not null,
    --: Whether the call by its name works on no data and waits for nothing: views and empty tensors, records of events,
    --: queries.
    does_nothing boolean not null
);

--: One row per stall and gap, cause and collective: what a GPU idled because the late thread stood still, then or in
--: gaps that it came late to afterwards, and what a collective took beyond a transfer while a thread of its process
--: stood still. The latter is lost only if the other ranks stood still as well: without that they had been waited for.
create table if not exists stall_cost (
    --: Trace.
    trace_id integer not null,
    --: Stall; see host_stall.
    stall_id integer not null,
    --: As in idle_gap_cause, or communication.
    cause varchar not null,
    --: Gap; see idle_gap. NULL for communication.
    gap_id bigint,
    --: Collective; see collective_slice. NULL for idle time.
    slice_id bigint,
    --: Time, ns: of idle_gap_cause.dur, or of collective_slice.exposed.
    dur bigint not null
);
