-- How well kernels fill the GPU, and what operators cost. Definitions: docs/metrics.md.

create table if not exists kernel_occupancy (
    trace_id integer not null,
    slice_id bigint not null,
    device integer not null,
    step integer,
    family varchar not null,
    tensor_core boolean,
    blocks bigint,
    threads_per_block integer,
    cluster_x integer,
    cluster_y integer,
    cluster_z integer,
    resident_blocks integer,
    limiter varchar not null,
    theoretical_occupancy double,
    waves double,
    wave_efficiency double,
    sm_coverage double,
    estimated_occupancy double,
    recorded_occupancy double,
    exclusive_dur double not null
);
comment on table kernel_occupancy is 'One row per kernel, communication kernels included: what its launch geometry says, not what was measured. Definition: docs/metrics.md.';
comment on column kernel_occupancy.device is 'Device it ran on.';
comment on column kernel_occupancy.step is 'gpu_slice.step.';
comment on column kernel_occupancy.family is 'From its name: communication, cublas, nvjet, cutlass, cudnn, flash_attention, linear_attention, triton, trtllm, aiter, deep_gemm, marlin, quantize, nvfuser, xla, hipblas, miopen, composable_kernel, routing (of experts), kv_cache, sampling, elementwise, reduce, norm, softmax, optimizer, copy, index, ...; unknown when the name does not tell. The patterns: traceq/analysis/kernels/kernel_family.sql.';
comment on column kernel_occupancy.tensor_core is 'Whether it computes on tensor (matrix) cores, from its name, of templates of Inductor from the types of the operator that launched them; NULL when they do not tell.';
comment on column kernel_occupancy.blocks is 'Blocks of the grid; NULL when the trace does not say.';
comment on column kernel_occupancy.threads_per_block is 'Threads per block; NULL when the trace does not say.';
comment on column kernel_occupancy.cluster_x is 'Blocks per cluster in x; NULL without clusters, or when the trace does not say (PyTorch never does).';
comment on column kernel_occupancy.cluster_y is 'Blocks per cluster in y.';
comment on column kernel_occupancy.cluster_z is 'Blocks per cluster in z.';
comment on column kernel_occupancy.resident_blocks is 'Blocks that fit on a multiprocessor at once; NULL when a limit or the geometry is not known, and on other makers'' GPUs. Clusters are not considered: all blocks of one must be placed together, which can only lower it.';
comment on column kernel_occupancy.limiter is 'What keeps occupancy from being higher: grid (not enough blocks to fill the GPU once), else warps, blocks, registers or shared_memory (the first of these that allows no more); unknown.';
comment on column kernel_occupancy.theoretical_occupancy is 'Warps of the resident blocks over the most a multiprocessor holds, 0 to 1.';
comment on column kernel_occupancy.waves is 'Blocks over the blocks that fit on the whole GPU at once.';
comment on column kernel_occupancy.wave_efficiency is 'waves over waves rounded up: how full the waves are on average.';
comment on column kernel_occupancy.sm_coverage is 'Share of the multiprocessors that get a block at all.';
comment on column kernel_occupancy.estimated_occupancy is 'theoretical_occupancy, lowered where the grid has fewer blocks than fit: what PyTorch calls est. achieved occupancy. A share, 0 to 1.';
comment on column kernel_occupancy.recorded_occupancy is 'The same as the profiler wrote it, rounded to a hundredth; 0 for every kernel with more than 48 KiB of shared memory per block, which is wrong. NULL when it wrote none or no share.';
comment on column kernel_occupancy.exclusive_dur is 'Its duration, where k kernels run on the device at once counted 1/k, ns: kernels add up to the time in which any runs.';

create table if not exists operator_cost (
    trace_id integer not null,
    slice_id bigint not null,
    step integer,
    device integer,
    kind varchar not null,
    dtype varchar,
    flops bigint,
    bytes bigint,
    kernels integer not null,
    gpu_dur bigint,
    compute_type varchar,
    peak double,
    memory_bandwidth bigint,
    achieved double,
    achieved_bandwidth double,
    intensity double,
    ridge double,
    bound varchar not null
);
comment on table operator_cost is 'One row per operator whose floating-point operations or bytes follow from the shapes recorded with it; of operators around one another the innermost. Matmul, convolution, attention and experts for which they do not have one, too, where they launched kernels that no other row has. Definition: docs/metrics.md.';
comment on column operator_cost.slice_id is 'The operator in cpu_slice.';
comment on column operator_cost.step is 'Step of its kernels; without kernels the one it started in.';
comment on column operator_cost.device is 'Device of its kernels; NULL when it launched none, or on several.';
comment on column operator_cost.kind is 'matmul, convolution, attention; experts (of a mixture, as servers run them: operations are never known); elementwise and norm, of which only the bytes are counted.';
comment on column operator_cost.dtype is 'Type of its first tensor: fp64, fp32, fp16, bf16, fp8, int8, ...; of products recorded without types (emit_nvtx) what the names of their kernels tell; NULL for others.';
comment on column operator_cost.flops is 'Floating-point operations, a multiply and an add are two; NULL for elementwise and norm, and where the trace lacks shapes or settings. Backward of attention includes the scores it computes again; masks are not subtracted.';
comment on column operator_cost.bytes is 'Bytes to read every input and write every output once; NULL when not known.';
comment on column operator_cost.kernels is 'Kernels it launched that no operator inside it with a cost of its own did.';
comment on column operator_cost.gpu_dur is 'Time of these kernels, ns: the sum of their kernel_occupancy.exclusive_dur; NULL without kernels.';
comment on column operator_cost.compute_type is 'Arithmetic whose peak applies: dtype; for fp32 only what the names of all its kernels tell, tf32 or fp32; NULL when they do not.';
comment on column operator_cost.peak is 'Peak of the device in it, TFLOP/s; NULL when not known.';
comment on column operator_cost.memory_bandwidth is 'Peak memory bandwidth of the device, bytes per second; NULL when not known.';
comment on column operator_cost.achieved is 'flops over gpu_dur, TFLOP/s.';
comment on column operator_cost.achieved_bandwidth is 'bytes over gpu_dur, GB/s. It can exceed the memory''s: caches hold what was just written.';
comment on column operator_cost.intensity is 'flops over bytes.';
comment on column operator_cost.ridge is 'Intensity from which on the peak and not the memory is the limit: peak over memory_bandwidth.';
comment on column operator_cost.bound is 'compute when intensity reaches ridge, else memory; unknown when one of them is not known.';

create table if not exists module (
    trace_id integer not null,
    device integer not null,
    module varchar not null,
    depth integer not null,
    calls bigint,
    forward_dur double not null,
    backward_dur double not null,
    own_dur double not null,
    flops double,
    mfu double,
    memory_growth bigint
);
comment on table module is 'One row per device and module of the model that launched kernels in counted steps, with all modules inside it: sums over these steps. From frames that PyTorch names after modules (with_stack), FSDP''s ranges and ranges named like modules. Definition: docs/metrics.md.';
comment on column module.device is 'Device of the kernels.';
comment on column module.module is 'Names of the module and those around it, from the outside in, with / between: ResNet_0/Sequential_1/BasicBlock_2.';
comment on column module.depth is 'Modules in it: 1 for those without another one around them.';
comment on column module.calls is 'Times it was called in the counted steps.';
comment on column module.forward_dur is 'Time of kernels launched inside of it, ns: sum of kernel_occupancy.exclusive_dur, without communication.';
comment on column module.backward_dur is 'The same of the backward pass: of the nodes of its operators in autograd''s graph, and of what is computed again inside of it.';
comment on column module.own_dur is 'The part of both that no module inside it has, ns.';
comment on column module.flops is 'Floating-point operations of matmul, convolution and attention of it, forward and backward; NULL when none are known (operator_cost).';
comment on column module.mfu is 'Time that these operations take at the peak of their types, over the time of its kernels; NULL unless all peaks are known. A lower bound where operations are not known.';
comment on column module.memory_growth is 'Bytes allocated at the end of a call of it above those at its start, median; of what the trace samples (memory_allocated). NULL without samples.';

create table if not exists compiled_kernel (
    trace_id integer not null,
    name varchar not null,
    kernel_hash varchar,
    kernel_file varchar,
    backend varchar,
    kind varchar,
    operators varchar,
    lines varchar,
    code varchar,
    told_by varchar,
    kernels bigint not null,
    dur bigint not null
);
comment on table compiled_kernel is 'One row per kernel that torch.compile (Inductor) made and that ran: by its name, and by the file that holds it where the trace tells that; names are used again by every compiled graph.';
comment on column compiled_kernel.name is 'gpu_slice.name.';
comment on column compiled_kernel.kernel_hash is 'Name of the file that holds it, without suffix; NULL where the trace does not tell.';
comment on column compiled_kernel.kernel_file is 'That file; NULL where the trace does not tell.';
comment on column compiled_kernel.backend is 'What it was compiled for: triton; NULL where the trace does not tell.';
comment on column compiled_kernel.kind is 'pointwise, reduction, persistent reduction, template (a product), foreach, split scan, cooperative reduction or mixed order reduction, from its name; NULL for others.';
comment on column compiled_kernel.operators is 'Operators that are fused in it, with a comma between: aten::add, aten::relu. From its name they have no namespace and may not be all: Inductor writes at most ten. NULL where its name has none.';
comment on column compiled_kernel.lines is 'Lines of the program that these come from, one a line: FILE(LINE): FUNCTION. NULL where no file of Inductor tells them (--inductor).';
comment on column compiled_kernel.code is 'The code of each of these lines.';
comment on column compiled_kernel.told_by is 'What told operators: provenance (files of Inductor''s provenance tracking), code (comments in the code that it generated), name. NULL for none.';
comment on column compiled_kernel.kernels is 'How often it ran.';
comment on column compiled_kernel.dur is 'Sum of its durations, ns.';
