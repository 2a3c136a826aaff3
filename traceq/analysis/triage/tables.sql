-- What a capture is, before anything in it is judged. Definitions: docs/decisions/0029-triage.md.

create table if not exists triage (
    trace_id integer not null,
    kind varchar not null,
    reason varchar not null,
    gpu_slices bigint not null,
    kernels bigint not null,
    host_slices bigint not null,
    device_calls bigint not null,
    launch_calls bigint not null,
    recorded_launches bigint not null,
    unmatched_launches bigint not null,
    gpus_listed integer not null,
    gpus_used integer not null,
    steps bigint not null,
    window_ns bigint not null,
    once_ns bigint not null,
    set_up_ns bigint not null,
    number_gap double not null
);
comment on table triage is 'One row per trace: what the capture is, and the numbers that say so. Definition: docs/decisions/0029-triage.md.';
comment on column triage.kind is 'nothing_recorded, host_only, start_up_only, fragment, one_off, steps or window: the first that holds.';
comment on column triage.reason is 'Why it is of this kind: empty; by_design, rows_missing, not_collected, other_device; stopped, trivial; graph_capture, devices_missing, cut, sampled, lost, no_unit; whole_run, cold; marked, recurrence; unmarked.';
comment on column triage.gpu_slices is 'Kernels, graphs, copies, memsets on GPUs.';
comment on column triage.kernels is 'Kernels and graphs among them.';
comment on column triage.host_slices is 'Calls, operators, ranges, frames and OS calls of the host.';
comment on column triage.device_calls is 'Calls of the CUDA or HIP runtime or driver.';
comment on column triage.launch_calls is 'Those among them that launch kernels or graphs.';
comment on column triage.recorded_launches is 'Those among them that were recorded into a graph and did not run.';
comment on column triage.unmatched_launches is 'Those among them that ran, and of whose work nothing is in the trace.';
comment on column triage.gpus_listed is 'GPUs that the trace lists.';
comment on column triage.gpus_used is 'GPUs with any work.';
comment on column triage.steps is 'Steps that count; 0 where the window is judged.';
comment on column triage.window_ns is 'What is judged, from its start to its end, ns.';
comment on column triage.once_ns is 'Time in it in which no kernel runs and a thread that launches does what happens once: creating contexts, loading and compiling code, the first of each allocating call, launching a kernel for the first time and preparing calls inside the first operator of a name (of 1 ms and more each), many copies to a GPU before the kernels; 0 where several steps count, ns.';
comment on column triage.set_up_ns is 'The longest call with which the program creates its context, ns; 0 where the capture does not hold one.';
comment on column triage.number_gap is 'Median distance of the numbers (correlation ids) of one call of the runtime and the next; 1 to 12 where the profiler kept all, 1 where calls have none.';
