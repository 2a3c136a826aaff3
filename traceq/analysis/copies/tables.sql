-- The tables that say what copies cost, and what moving unified memory cost.

create table if not exists copy_overlap (
    trace_id integer not null,
    slice_id bigint not null,
    device integer not null,
    step integer,
    category varchar not null,
    copy_kind varchar,
    direction varchar,
    bytes bigint,
    size_class varchar,
    dur bigint not null,
    bandwidth double,
    best_bandwidth double,
    link_bandwidth double,
    overlapped bigint not null,
    hidden bigint not null,
    exposed bigint not null,
    could_overlap bigint not null,
    is_pageable boolean,
    is_async_call boolean,
    is_blocking boolean,
    host_dur bigint,
    batch bigint,
    position varchar,
    returns_slice_id bigint
);
comment on table copy_overlap is 'One row per copy (those of collectives are communication and left out): what ran beside it, how it was asked for, and where. Per copy overlapped, hidden and exposed add up to dur. Definition: docs/metrics.md.';
comment on column copy_overlap.step is 'Step it was launched in; NULL outside all steps.';
comment on column copy_overlap.category is 'What it is in time_ledger when nothing else runs: copy_h2d, copy_d2h or copy_other.';
comment on column copy_overlap.copy_kind is 'h2d, d2h, d2d, p2p, h2h or um (unified-memory migration); see gpu_slice.';
comment on column copy_overlap.direction is 'Where the bytes went: as copy_kind, and for migrations h2d, d2h or d2d; NULL when unknown.';
comment on column copy_overlap.bytes is 'Bytes copied; NULL when the source does not say.';
comment on column copy_overlap.size_class is 'below 4 KiB, below 64 KiB, below 1 MiB, below 16 MiB, 16 MiB and above; NULL when bytes is.';
comment on column copy_overlap.dur is 'Duration on the device, ns.';
comment on column copy_overlap.bandwidth is 'bytes / dur, in bytes per nanosecond, which is GB/s; NULL when the duration is 0 or the size unknown.';
comment on column copy_overlap.best_bandwidth is 'Best bandwidth of a copy of the same direction, memory kinds and size class in this trace, GB/s; NULL when none is known.';
comment on column copy_overlap.link_bandwidth is 'What the GPU''s link to the host carries per direction (device_model.host_link_bandwidth), GB/s; NULL when the GPU is unknown and for copies that are not h2d or d2h.';
comment on column copy_overlap.overlapped is 'Time in which a compute kernel or an opaque graph ran on the device, ns.';
comment on column copy_overlap.hidden is 'Time without compute in which communication, or a copy of a category that comes first in the ledger, ran, ns.';
comment on column copy_overlap.exposed is 'Time in which the ledger''s category was this copy''s, ns; copies of one category that run at once have it each.';
comment on column copy_overlap.could_overlap is 'Upper bound of what could have been hidden behind compute, ns: of exposed, not more than the device computed from the end of the copy to the end of the step in which it ended, less what copies that end later take of that; 0 outside all steps. The copies of a step have no more together than the device computed.';
comment on column copy_overlap.is_pageable is 'Whether one of its memories is pageable; NULL when the source does not say.';
comment on column copy_overlap.is_async_call is 'Whether the name of the API that asked for it says Async; NULL when the call is unknown or no copy call (a graph launch).';
comment on column copy_overlap.is_blocking is 'Whether the call held the host until the copy was done, or had to: a synchronous API between host and device, pageable memory, or a call that returned after the copy''s end; NULL when the call is unknown.';
comment on column copy_overlap.host_dur is 'Duration of the API call, ns; NULL when unknown. Copies of one batch have the same call.';
comment on column copy_overlap.batch is 'Copies asked for by the same call (a batch API, a graph); NULL when the call is unknown.';
comment on column copy_overlap.position is 'Where in the program it was asked for: data, checkpoint, item (.item() and what it is made of), pipeline, forward, backward, optimizer, or other; NULL when the call is unknown.';
comment on column copy_overlap.returns_slice_id is 'For an h2d copy, the d2h copy whose bytes it may bring back: same step, device, process and size, ended before this one was asked for; each d2h copy is used once, the earliest first. NULL for none.';

create table if not exists unified_memory (
    trace_id integer not null,
    device integer,
    step integer,
    migrations_h2d bigint not null,
    bytes_h2d bigint,
    dur_h2d bigint not null,
    migrations_d2h bigint not null,
    bytes_d2h bigint,
    dur_d2h bigint not null,
    migrations_d2d bigint not null,
    bytes_d2d bigint,
    dur_d2d bigint not null,
    gpu_faults bigint,
    gpu_fault_dur bigint,
    cpu_faults bigint
);
comment on table unified_memory is 'One row per device and step in which unified memory migrated or pages faulted; faults of the CPU are in rows without a device.';
comment on column unified_memory.device is 'Device; NULL for faults of the CPU.';
comment on column unified_memory.step is 'Step it elapsed in, by its start; NULL outside all steps.';
comment on column unified_memory.migrations_h2d is 'Migrations to the device.';
comment on column unified_memory.bytes_h2d is 'Bytes migrated to the device; NULL when the size of some is unknown.';
comment on column unified_memory.dur_h2d is 'Their durations added up, ns.';
comment on column unified_memory.migrations_d2h is 'Migrations to the host.';
comment on column unified_memory.bytes_d2h is 'Bytes migrated to the host; NULL when the size of some is unknown.';
comment on column unified_memory.dur_d2h is 'Their durations added up, ns.';
comment on column unified_memory.migrations_d2d is 'Migrations between devices.';
comment on column unified_memory.bytes_d2d is 'Bytes migrated between devices; NULL when the size of some is unknown.';
comment on column unified_memory.dur_d2d is 'Their durations added up, ns.';
comment on column unified_memory.gpu_faults is 'Page faults of the device; NULL when the trace records none at all, and for the CPU.';
comment on column unified_memory.gpu_fault_dur is 'Time in which at least one of them was being served, ns; NULL as gpu_faults.';
comment on column unified_memory.cpu_faults is 'Page faults of the CPU on unified memory; NULL when the trace records none at all, and for devices.';
