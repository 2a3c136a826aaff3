-- What program a trace is of, by the names in it. Definitions: docs/metrics.md.

--: One row per property of the program that something in the trace shows, and value of it. No row: the trace does not
--: say.
create table if not exists program (
    --: Trace.
    trace_id integer not null,
    --: language, framework (as many as are used, what stands on it and libraries included), mode (how its work reaches
    --: the GPU), vendor (of the GPUs), workload (what it is run for), feature (what makes programs fast and is in use).
    property varchar not null,
    --: language: python, c++, julia. framework: PyTorch, DDP, FSDP, JAX, CuPy, CUDA C++, vLLM, ... mode: eager,
    --: compiled, cuda_graph. vendor: nvidia, amd, intel. workload: training, inference (of a model, outside a server),
    --: serving, batch (computes something else). feature: flash_attention, half_precision, foreach_optimizer,
    --: fused_optimizer, checkpointing (of activations), expandable_segments, memory_pool (of the driver),
    --: channels_last.
    value varchar not null,
    --: What shows it: the kind of name (op, annotation, domain, python, call, kernel, process, thread, device) and the
    --: most frequent such name; for Python frames the file.
    evidence varchar not null,
    --: How many slices have such names; of processes, threads and devices how many there are.
    count bigint not null
);
