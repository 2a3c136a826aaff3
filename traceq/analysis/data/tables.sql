-- Fetching of input: each fetch, who else prepares batches, and what fetching costs per step. Definitions: docs/metrics.md.

create table if not exists data_fetch (
    trace_id integer not null,
    slice_id bigint not null,
    thread_id integer not null,
    is_training boolean not null,
    step integer,
    loader varchar not null,
    loader_kind varchar,
    number bigint not null,
    ts bigint not null,
    dur bigint not null,
    ts_end bigint generated always as (ts + dur),
    stalled bigint,
    waiting bigint not null,
    reading bigint not null,
    transform bigint not null,
    python bigint not null,
    calls bigint not null,
    unexplained bigint not null,
    is_first boolean,
    iterator_dur bigint
);
comment on table data_fetch is 'One row per fetch of input: the outermost slice of context data (host_name.context). waiting, reading, transform, python, calls and unexplained add up to dur exactly.';
comment on column data_fetch.slice_id is 'The cpu_slice.';
comment on column data_fetch.thread_id is 'Thread that fetches.';
comment on column data_fetch.is_training is 'Whether training waits for it: it stands on the training thread (host_ledger.thread_id), or in another process on a thread that launches GPU work. Others fetch ahead.';
comment on column data_fetch.step is 'Step in which it starts; NULL outside all steps.';
comment on column data_fetch.loader is 'What is fetched from: the label of traceq.fetch, else the loader in enumerate(...), else the name of the slice.';
comment on column data_fetch.loader_kind is 'multi_process (worker processes prepare batches) or in_process (the fetching thread does), by the names in it; NULL when they do not tell.';
comment on column data_fetch.number is 'Number of the fetch among those of its thread and loader in this trace, from 0.';
comment on column data_fetch.stalled is 'Time of idle_data in it on the device that it held up most, ns; the rest of it cost nothing. NULL without a GPU.';
comment on column data_fetch.waiting is 'Time in calls that wait: polls, locks, queues, sleeps, ns.';
comment on column data_fetch.reading is 'Time in calls that read or open files (or pipes), ns.';
comment on column data_fetch.transform is 'Time in PyTorch operators on the fetching thread: transforms, collating, ns.';
comment on column data_fetch.python is 'Time in other Python frames, ns.';
comment on column data_fetch.calls is 'Time in CUDA calls (pinning, copies) and other OS calls, ns.';
comment on column data_fetch.unexplained is 'Time in which nothing is open but ranges: Python code without frames, or a wait nobody traced, ns.';
comment on column data_fetch.is_first is 'Whether it is the first fetch of a new iterator of a PyTorch DataLoader; NULL when the trace has no frames to tell.';
comment on column data_fetch.iterator_dur is 'What making that iterator took (start of workers), ns; NULL unless is_first.';

create table if not exists data_worker (
    trace_id integer not null,
    step integer not null,
    thread_id integer not null,
    role varchar not null,
    dur bigint not null,
    active bigint not null,
    waiting bigint not null,
    busy bigint
);
comment on table data_worker is 'One row per step and thread that prepares input beside the training thread.';
comment on column data_worker.thread_id is 'The thread.';
comment on column data_worker.role is 'worker (PyTorch names or runs it as a worker of a DataLoader), pin_memory, or prefetch (any other thread that fetches).';
comment on column data_worker.dur is 'Time of the step between the first and the last thing that the thread is seen to do, ns.';
comment on column data_worker.active is 'Part of it in which something is open that is no wait, ns.';
comment on column data_worker.waiting is 'Part of it in calls that wait, ns.';
comment on column data_worker.busy is 'dur less waiting, ns; NULL when the trace has no OS calls of the thread, for then waits are not seen.';

create table if not exists data_stall (
    trace_id integer not null,
    step integer not null,
    thread_id integer,
    device integer,
    data_wait bigint,
    data_stall bigint,
    idle_data bigint,
    input_copy bigint,
    hidden bigint,
    fetches bigint,
    longest_fetch bigint,
    first_fetch bigint,
    loader varchar,
    loader_kind varchar,
    waiting bigint,
    reading bigint,
    transform bigint,
    python bigint,
    calls bigint,
    unexplained bigint,
    workers bigint,
    worker_busy double
);
comment on table data_stall is 'One row per step: how long training waits for input, and what of it costs the GPU.';
comment on column data_stall.thread_id is 'The training thread; NULL when the trace has no host side.';
comment on column data_stall.device is 'The device that fetching costs most in this step; NULL without a GPU.';
comment on column data_stall.data_wait is 'Time the training thread spends fetching: data in host_ledger, ns; NULL when nothing on this thread names fetching, for then nobody can tell.';
comment on column data_stall.data_stall is 'idle_data plus input_copy: what fetching costs that device, ns. Where data_wait is unknown what is known of it; NULL when that is nothing.';
comment on column data_stall.idle_data is 'Time the device idles because of fetching (time_ledger), ns; NULL when data_wait is unknown and none is seen.';
comment on column data_stall.input_copy is 'Time in this step in which nothing but copies of input to the device run on it, ns; NULL when the launches of copies are not in the trace.';
comment on column data_stall.hidden is 'Part of data_wait in which the device did not idle for it: it cost nothing, ns; NULL when unknown or without a GPU.';
comment on column data_stall.fetches is 'Fetches of the training thread seen to start in this step; NULL when the trace has no host side.';
comment on column data_stall.longest_fetch is 'The longest of them, ns; NULL for none.';
comment on column data_stall.first_fetch is 'Those that are the first of an iterator, with the making of it, ns; NULL when there is none or nobody can tell.';
comment on column data_stall.loader is 'Loader with most time in them (data_fetch.loader); NULL for none.';
comment on column data_stall.loader_kind is 'Its kind (data_fetch.loader_kind).';
comment on column data_stall.waiting is 'Sum over the fetches, ns; see data_fetch. NULL when data_wait is.';
comment on column data_stall.reading is 'As waiting.';
comment on column data_stall.transform is 'As waiting.';
comment on column data_stall.python is 'As waiting.';
comment on column data_stall.calls is 'As waiting.';
comment on column data_stall.unexplained is 'As waiting.';
comment on column data_stall.workers is 'Workers and prefetching threads seen in the step, pinning threads left out; 0 when the loader works in the training process and none is seen; else NULL.';
comment on column data_stall.worker_busy is 'Share of their time in which they do not wait, 0 to 1; NULL when the trace does not show it.';
