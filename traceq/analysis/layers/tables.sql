-- GPU time by layer of the model. Definition: docs/metrics.md.

--: One row per device and layer of the model, and per part of the counted steps outside of the layers: together they are
--: all time of compute kernels. Empty where nothing tells of layers. Definition: docs/metrics.md.
create table if not exists layer (
    --: Trace.
    trace_id integer not null,
    --: Device of the kernels.
    device integer not null,
    --: Number of the row on its device, from 0, in the order in which they first run.
    place integer not null,
    --: The list that the layer is in: the place of its modules in the model (module without numbers); of layers found by
    --: order the module around them, with list 1, list 2, ... where that has several, or layers where none is known. NULL
    --: outside of layers.
    list varchar,
    --: Number of the layer in its list, from 0; NULL outside of layers.
    layer integer,
    --: How many layers the list has; NULL outside of layers.
    layers integer,
    --: module.module, or layer 7 of 32; outside: before the layers, between the layers, after the layers, steps without
    --: layers.
    name varchar not null,
    --: module (frames that PyTorch names after modules), annotation (ranges and regions named like modules), or order: the
    --: sequence of kernels repeats. Those outside have that of the layers.
    source varchar not null,
    --: Kernels, without communication.
    kernels bigint not null,
    --: Times the layer ran: of modules module.calls, else sequences of kernels that are its forward pass. NULL outside.
    calls bigint,
    --: Time of these kernels, ns: sum of kernel_occupancy.exclusive_dur.
    forward_dur double not null,
    --: The same of the backward pass.
    backward_dur double not null,
    --: The first step that has kernels of it.
    step integer not null,
    --: Place of the first of them among all compute kernels of that step, from 0.
    first_kernel bigint not null,
    --: Place of the last.
    last_kernel bigint not null
);
