-- The tables that say what copies cost, and what moving unified memory cost.

--: One row per copy (those of collectives are communication and left out): what ran beside it, how it was asked for,
--: and where. Per copy overlapped, hidden and exposed add up to dur. Definition: docs/metrics.md.
create table if not exists copy_overlap (
    --: Trace.
    trace_id integer not null,
    --: The gpu_slice.
    slice_id bigint not null,
    --: Device.
    device integer not null,
    --: Step it was launched in; NULL outside all steps.
    step integer,
    --: What it is in time_ledger when nothing else runs: copy_h2d, copy_d2h or copy_other.
    category varchar not null,
    --: h2d, d2h, d2d, p2p, h2h or um (unified-memory migration); see gpu_slice.
    copy_kind varchar,
    --: Where the bytes went: as copy_kind, and for migrations h2d, d2h or d2d; NULL when unknown.
    direction varchar,
    --: Bytes copied; NULL when the source does not say.
    bytes bigint,
    --: below 4 KiB, below 64 KiB, below 1 MiB, below 16 MiB, 16 MiB and above; NULL when bytes is.
    size_class varchar,
    --: Duration on the device, ns.
    dur bigint not null,
    --: bytes / dur, in bytes per nanosecond, which is GB/s; NULL when the duration is 0 or the size unknown.
    bandwidth double,
    --: Best bandwidth of a copy of the same direction, memory kinds and size class in this trace, GB/s; NULL when none
    --: is known.
    best_bandwidth double,
    --: What the GPU's link to the host carries per direction (device_model.host_link_bandwidth), GB/s; NULL when the
    --: GPU is unknown and for copies that are not h2d or d2h.
    link_bandwidth double,
    --: Time in which a compute kernel or an opaque graph ran on the device, ns.
    overlapped bigint not null,
    --: Time without compute in which communication, or a copy of a category that comes first in the ledger, ran, ns.
    hidden bigint not null,
    --: Time in which the ledger's category was this copy's, ns; copies of one category that run at once have it each.
    exposed bigint not null,
    --: Upper bound of what could have been hidden behind compute, ns: of exposed, not more than the device computed
    --: from the end of the copy to the end of the step in which it ended, less what copies that end later take of that;
    --: 0 outside all steps. The copies of a step have no more together than the device computed.
    could_overlap bigint not null,
    --: Whether one of its memories is pageable; NULL when the source does not say.
    is_pageable boolean,
    --: Whether the name of the API that asked for it says Async; NULL when the call is unknown or no copy call (a graph
    --: launch).
    is_async_call boolean,
    --: Whether the call held the host until the copy was done, or had to: a synchronous API between host and device,
    --: pageable memory, or a call that returned after the copy's end; NULL when the call is unknown.
    is_blocking boolean,
    --: Duration of the API call, ns; NULL when unknown. Copies of one batch have the same call.
    host_dur bigint,
    --: Copies asked for by the same call (a batch API, a graph); NULL when the call is unknown.
    batch bigint,
    --: Where in the program it was asked for: data, checkpoint, item (.item() and what it is made of), pipeline,
    --: forward, backward, optimizer, or other; NULL when the call is unknown.
    position varchar,
    --: For an h2d copy, the d2h copy whose bytes it may bring back: same step, device, process and size, ended before
    --: this one was asked for; each d2h copy is used once, the earliest first. NULL for none.
    returns_slice_id bigint
);

--: One row per device and step in which unified memory migrated or pages faulted; faults of the CPU are in rows without
--: a device.
create table if not exists unified_memory (
    --: Trace.
    trace_id integer not null,
    --: Device; NULL for faults of the CPU.
    device integer,
    --: Step it elapsed in, by its start; NULL outside all steps.
    step integer,
    --: Migrations to the device.
    migrations_h2d bigint not null,
    --: Bytes migrated to the device; NULL when the size of some is unknown.
    bytes_h2d bigint,
    --: Their durations added up, ns.
    dur_h2d bigint not null,
    --: Migrations to the host.
    migrations_d2h bigint not null,
    --: Bytes migrated to the host; NULL when the size of some is unknown.
    bytes_d2h bigint,
    --: Their durations added up, ns.
    dur_d2h bigint not null,
    --: Migrations between devices.
    migrations_d2d bigint not null,
    --: Bytes migrated between devices; NULL when the size of some is unknown.
    bytes_d2d bigint,
    --: Their durations added up, ns.
    dur_d2d bigint not null,
    --: Page faults of the device; NULL when the trace records none at all, and for the CPU.
    gpu_faults bigint,
    --: Time in which at least one of them was being served, ns; NULL as gpu_faults.
    gpu_fault_dur bigint,
    --: Page faults of the CPU on unified memory; NULL when the trace records none at all, and for devices.
    cpu_faults bigint
);
