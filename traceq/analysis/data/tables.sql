-- Fetching of input: each fetch, who else prepares batches, and what fetching costs per step. Definitions: docs/metrics.md.

--: One row per fetch of input: the outermost slice of context data (host_name.context). waiting, reading, transform,
--: python, calls and unexplained add up to dur exactly.
create table if not exists data_fetch (
    --: Trace.
    trace_id integer not null,
    --: The cpu_slice.
    slice_id bigint not null,
    --: Thread that fetches.
    thread_id integer not null,
    --: Whether training waits for it: it stands on the training thread (host_ledger.thread_id), or in another process
    --: on a thread that launches GPU work. Others fetch ahead.
    is_training boolean not null,
    --: Step in which it starts; NULL outside all steps.
    step integer,
    --: What is fetched from: the label of traceq.fetch, else the loader in enumerate(...), else the name of the slice.
    loader varchar not null,
    --: multi_process (worker processes prepare batches) or in_process (the fetching thread does), by the names in it;
    --: NULL when they do not tell.
    loader_kind varchar,
    --: Number of the fetch among those of its thread and loader in this trace, from 0.
    number bigint not null,
    --: Start, ns.
    ts bigint not null,
    --: Duration, ns.
    dur bigint not null,
    --: End, ns: ts + dur.
    ts_end bigint generated always as (ts + dur),
    --: Time of idle_data in it on the device that it held up most, ns; the rest of it cost nothing. NULL without a GPU.
    stalled bigint,
    --: Time in calls that wait: polls, locks, queues, sleeps, ns.
    waiting bigint not null,
    --: Time in calls that read or open files (or pipes), ns.
    reading bigint not null,
    --: Time in PyTorch operators on the fetching thread: transforms, collating, ns.
    transform bigint not null,
    --: Time in other Python frames, ns.
    python bigint not null,
    --: Time in CUDA calls (pinning, copies) and other OS calls, ns.
    calls bigint not null,
    --: Time in which nothing is open but ranges: Python code without frames, or a wait nobody traced, ns.
    unexplained bigint not null,
    --: Whether it is the first fetch of a new iterator of a PyTorch DataLoader; NULL when the trace has no frames to
    --: tell.
    is_first boolean,
    --: What making that iterator took (start of workers), ns; NULL unless is_first.
    iterator_dur bigint
);

--: One row per step and thread that prepares input beside the training thread.
create table if not exists data_worker (
    --: Trace.
    trace_id integer not null,
    --: Step.
    step integer not null,
    --: The thread.
    thread_id integer not null,
    --: worker (PyTorch names or runs it as a worker of a DataLoader), pin_memory, or prefetch (any other thread that
    --: fetches).
    role varchar not null,
    --: Time of the step between the first and the last thing that the thread is seen to do, ns.
    dur bigint not null,
    --: Part of it in which something is open that is no wait, ns.
    active bigint not null,
    --: Part of it in calls that wait, ns.
    waiting bigint not null,
    --: dur less waiting, ns; NULL when the trace has no OS calls of the thread, for then waits are not seen.
    busy bigint
);

--: One row per step: how long training waits for input, and what of it costs the GPU.
create table if not exists data_stall (
    --: Trace.
    trace_id integer not null,
    --: Step.
    step integer not null,
    --: The training thread; NULL when the trace has no host side.
    thread_id integer,
    --: The device that fetching costs most in this step; NULL without a GPU.
    device integer,
    --: Time the training thread spends fetching: data in host_ledger, ns; NULL when nothing on this thread names
    --: fetching, for then nobody can tell.
    data_wait bigint,
    --: idle_data plus input_copy: what fetching costs that device, ns. Where data_wait is unknown what is known of it;
    --: NULL when that is nothing.
    data_stall bigint,
    --: Time the device idles because of fetching (time_ledger), ns; NULL when data_wait is unknown and none is seen.
    idle_data bigint,
    --: Time in this step in which nothing but copies of input to the device run on it, ns; NULL when the launches of
    --: copies are not in the trace.
    input_copy bigint,
    --: Part of data_wait in which the device did not idle for it: it cost nothing, ns; NULL when unknown or without a
    --: GPU.
    hidden bigint,
    --: Fetches of the training thread seen to start in this step; NULL when the trace has no host side.
    fetches bigint,
    --: The longest of them, ns; NULL for none.
    longest_fetch bigint,
    --: Those that are the first of an iterator, with the making of it, ns; NULL when there is none or nobody can tell.
    first_fetch bigint,
    --: Loader with most time in them (data_fetch.loader); NULL for none.
    loader varchar,
    --: Its kind (data_fetch.loader_kind).
    loader_kind varchar,
    --: Sum over the fetches, ns; see data_fetch. NULL when data_wait is.
    waiting bigint,
    --: As waiting.
    reading bigint,
    --: As waiting.
    transform bigint,
    --: As waiting.
    python bigint,
    --: As waiting.
    calls bigint,
    --: As waiting.
    unexplained bigint,
    --: Workers and prefetching threads seen in the step, pinning threads left out; 0 when the loader works in the
    --: training process and none is seen; else NULL.
    workers bigint,
    --: Share of their time in which they do not wait, 0 to 1; NULL when the trace does not show it.
    worker_busy double
);
