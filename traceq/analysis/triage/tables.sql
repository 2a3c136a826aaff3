-- What a capture is, before anything in it is judged. Definitions: docs/decisions/0029-triage.md.

--: One row per trace: what the capture is, and the numbers that say so. Definition: docs/decisions/0029-triage.md.
create table if not exists triage (
    --: Trace.
    trace_id integer not null,
    --: nothing_recorded, host_only, start_up_only, fragment, one_off, steps or window: the first that holds.
    kind varchar not null,
    --: Why it is of this kind: empty; by_design, rows_missing, not_collected, other_device; stopped, trivial;
    --: graph_capture, devices_missing, cut, sampled, lost, clocks, no_unit; whole_run, cold; marked, recurrence; unmarked.
    reason varchar not null,
    --: Kernels, graphs, copies, memsets on GPUs.
    gpu_slices bigint not null,
    --: Kernels and graphs among them.
    kernels bigint not null,
    --: Calls, operators, ranges, frames and OS calls of the host.
    host_slices bigint not null,
    --: Calls of the CUDA or HIP runtime or driver.
    device_calls bigint not null,
    --: Those among them that launch kernels or graphs.
    launch_calls bigint not null,
    --: Those among them that were recorded into a graph and did not run.
    recorded_launches bigint not null,
    --: Those among them that ran, and of whose work nothing is in the trace.
    unmatched_launches bigint not null,
    --: GPUs that the trace lists.
    gpus_listed integer not null,
    --: GPUs with any work.
    gpus_used integer not null,
    --: Steps that count; 0 where the window is judged.
    steps bigint not null,
    --: What is judged, from its start to its end, ns.
    window_ns bigint not null,
    --: Time in it in which no kernel runs and a thread that launches does what happens once: creating contexts, loading
    --: and compiling code, the first of each allocating call, launching a kernel for the first time and preparing calls
    --: inside the first operator of a name (of 1 ms and more each), many copies to a GPU before the kernels; 0 where
    --: several steps count, ns.
    once_ns bigint not null,
    --: The longest call with which the program creates its context, ns; 0 where the capture does not hold one.
    set_up_ns bigint not null,
    --: Median distance of the numbers (correlation ids) of one call of the runtime and the next; 1 to 12 where the
    --: profiler kept all, 1 where calls have none.
    number_gap double not null
);
