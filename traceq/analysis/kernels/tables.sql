-- How well kernels fill the GPU, and what operators cost. Definitions: docs/metrics.md.

--: One row per kernel, communication kernels included: what its launch geometry says, not what was measured.
--: Definition: docs/metrics.md.
create table if not exists kernel_occupancy (
    --: Trace.
    trace_id integer not null,
    --: The gpu_slice.
    slice_id bigint not null,
    --: Device it ran on.
    device integer not null,
    --: gpu_slice.step.
    step integer,
    --: From its name: communication, cublas, nvjet, cutlass, cudnn, flash_attention, linear_attention, triton, trtllm,
    --: aiter, deep_gemm, marlin, quantize, nvfuser, xla, hipblas, miopen, composable_kernel, routing (of experts),
    --: kv_cache, sampling, elementwise, reduce, norm, softmax, optimizer, copy, index, ...; unknown when the name does
    --: not tell. The patterns: traceq/analysis/kernels/kernel_family.sql.
    family varchar not null,
    --: Whether it computes on tensor (matrix) cores, from its name, of templates of Inductor from the types of the
    --: operator that launched them; NULL when they do not tell.
    tensor_core boolean,
    --: Blocks of the grid; NULL when the trace does not say.
    blocks bigint,
    --: Threads per block; NULL when the trace does not say.
    threads_per_block integer,
    --: Blocks per cluster in x; NULL without clusters, or when the trace does not say (PyTorch never does).
    cluster_x integer,
    --: Blocks per cluster in y.
    cluster_y integer,
    --: Blocks per cluster in z.
    cluster_z integer,
    --: Blocks that fit on a multiprocessor at once; NULL when a limit or the geometry is not known, and on other
    --: makers' GPUs. Clusters are not considered: all blocks of one must be placed together, which can only lower it.
    resident_blocks integer,
    --: What keeps occupancy from being higher: grid (not enough blocks to fill the GPU once), else warps, blocks,
    --: registers or shared_memory (the first of these that allows no more); unknown.
    limiter varchar not null,
    --: Warps of the resident blocks over the most a multiprocessor holds, 0 to 1.
    theoretical_occupancy double,
    --: Blocks over the blocks that fit on the whole GPU at once.
    waves double,
    --: waves over waves rounded up: how full the waves are on average.
    wave_efficiency double,
    --: Share of the multiprocessors that get a block at all.
    sm_coverage double,
    --: theoretical_occupancy, lowered where the grid has fewer blocks than fit: what PyTorch calls est. achieved
    --: occupancy. A share, 0 to 1.
    estimated_occupancy double,
    --: The same as the profiler wrote it, rounded to a hundredth; 0 for every kernel with more than 48 KiB of shared
    --: memory per block, which is wrong. NULL when it wrote none or no share.
    recorded_occupancy double,
    --: Its duration, where k kernels run on the device at once counted 1/k, ns: kernels add up to the time in which any
    --: runs.
    exclusive_dur double not null
);

--: One row per operator whose floating-point operations or bytes follow from the shapes recorded with it; of operators
--: around one another the innermost. Matmul, convolution, attention and experts for which they do not have one, too,
--: where they launched kernels that no other row has. Definition: docs/metrics.md.
create table if not exists operator_cost (
    --: Trace.
    trace_id integer not null,
    --: The operator in cpu_slice.
    slice_id bigint not null,
    --: Step of its kernels; without kernels the one it started in.
    step integer,
    --: Device of its kernels; NULL when it launched none, or on several.
    device integer,
    --: matmul, convolution, attention; experts (of a mixture, as servers run them: operations are never known);
    --: elementwise and norm, of which only the bytes are counted.
    kind varchar not null,
    --: Type of its first tensor: fp64, fp32, fp16, bf16, fp8, int8, ...; of products recorded without types (emit_nvtx)
    --: what the names of their kernels tell; NULL for others.
    dtype varchar,
    --: Floating-point operations, a multiply and an add are two; NULL for elementwise and norm, and where the trace
    --: lacks shapes or settings. Backward of attention includes the scores it computes again; masks are not subtracted.
    flops bigint,
    --: Bytes to read every input and write every output once; NULL when not known.
    bytes bigint,
    --: Kernels it launched that no operator inside it with a cost of its own did.
    kernels integer not null,
    --: Time of these kernels, ns: the sum of their kernel_occupancy.exclusive_dur; NULL without kernels.
    gpu_dur bigint,
    --: Arithmetic whose peak applies: dtype; for fp32 only what the names of all its kernels tell, tf32 or fp32; NULL
    --: when they do not.
    compute_type varchar,
    --: Peak of the device in it, TFLOP/s; NULL when not known.
    peak double,
    --: Peak memory bandwidth of the device, bytes per second; NULL when not known.
    memory_bandwidth bigint,
    --: flops over gpu_dur, TFLOP/s.
    achieved double,
    --: bytes over gpu_dur, GB/s. It can exceed the memory's: caches hold what was just written.
    achieved_bandwidth double,
    --: flops over bytes.
    intensity double,
    --: Intensity from which on the peak and not the memory is the limit: peak over memory_bandwidth.
    ridge double,
    --: compute when intensity reaches ridge, else memory; unknown when one of them is not known.
    bound varchar not null,
    --: Ceiling: the least time that any program could take for it on this GPU, ns: operations at the peak, bytes beyond
    --: what caches hold at the peak bandwidth, one launch. NULL without kernels, operations or bytes.
    ceiling_dur bigint,
    --: What libraries reach in this shape, ns: with the best tiles, waves and split of k at 0.7 of the peak, or with 0.8
    --: of the bandwidth, and the start of a kernel. NULL when peak, bandwidth or bytes are not known.
    reachable_dur bigint,
    --: What they reach with as many operations and bytes in a shape that fills tiles and waves (sizes padded or larger,
    --: batches joined), ns; NULL likewise.
    filled_dur bigint,
    --: What decides about reachable_dur: peak, tiles (tiles at the edges and waves that are not full cost a tenth or
    --: more), memory or launch; unknown when it is not known. NULL where ceiling_dur is.
    ceiling_limit varchar
);

--: One row per device and module of the model that launched kernels in counted steps, with all modules inside it: sums
--: over these steps. From frames that PyTorch names after modules (with_stack), FSDP's ranges and ranges named like
--: modules. Definition: docs/metrics.md.
create table if not exists module (
    --: Trace.
    trace_id integer not null,
    --: Device of the kernels.
    device integer not null,
    --: Names of the module and those around it, from the outside in, with / between:
    --: ResNet_0/Sequential_1/BasicBlock_2.
    module varchar not null,
    --: Modules in it: 1 for those without another one around them.
    depth integer not null,
    --: Times it was called in the counted steps.
    calls bigint,
    --: Time of kernels launched inside of it, ns: sum of kernel_occupancy.exclusive_dur, without communication.
    forward_dur double not null,
    --: The same of the backward pass: of the nodes of its operators in autograd's graph, and of what is computed again
    --: inside of it.
    backward_dur double not null,
    --: The part of both that no module inside it has, ns.
    own_dur double not null,
    --: Floating-point operations of matmul, convolution and attention of it, forward and backward; NULL when none are
    --: known (operator_cost).
    flops double,
    --: Time that these operations take at the peak of their types, over the time of its kernels; NULL unless all peaks
    --: are known. A lower bound where operations are not known.
    mfu double,
    --: Bytes allocated at the end of a call of it above those at its start, median; of what the trace samples
    --: (memory_allocated). NULL without samples.
    memory_growth bigint
);

--: One row per kernel of a compiled graph whose module is known: from files that torch.compile writes (--inductor), whose
--: graph calls the same operators in the same order.
create table if not exists compiled_module (
    --: Trace.
    trace_id integer not null,
    --: Kernel, a gpu_slice.
    slice_id bigint not null,
    --: Innermost module around all that the kernel computes, with those around it and / between, as far as the compiled graph
    --: knows them: layers.3/mlp.
    module varchar not null
);

--: One row per kernel that torch.compile (Inductor) made and that ran: by its name, and by the file that holds it where
--: the trace tells that; names are used again by every compiled graph.
create table if not exists compiled_kernel (
    --: Trace.
    trace_id integer not null,
    --: gpu_slice.name.
    name varchar not null,
    --: Name of the file that holds it, without suffix; NULL where the trace does not tell.
    kernel_hash varchar,
    --: That file; NULL where the trace does not tell.
    kernel_file varchar,
    --: What it was compiled for: triton; NULL where the trace does not tell.
    backend varchar,
    --: pointwise, reduction, persistent reduction, template (a product), foreach, split scan, cooperative reduction or
    --: mixed order reduction, from its name; NULL for others.
    kind varchar,
    --: Operators that are fused in it, with a comma between: aten::add, aten::relu. From its name they have no
    --: namespace and may not be all: Inductor writes at most ten. NULL where its name has none.
    operators varchar,
    --: Lines of the program that these come from, one a line: FILE(LINE): FUNCTION. NULL where no file of Inductor
    --: tells them (--inductor).
    lines varchar,
    --: The code of each of these lines.
    code varchar,
    --: What told operators: provenance (files of Inductor's provenance tracking), code (comments in the code that it
    --: generated), name. NULL for none.
    told_by varchar,
    --: How often it ran.
    kernels bigint not null,
    --: Sum of its durations, ns.
    dur bigint not null
);
