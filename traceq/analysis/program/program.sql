-- What program the trace is of, from names alone: never from the format, which only says who recorded it.
-- reads: serving_mark
-- makes: program

-- Every name once, with how often it occurs. Python frames by file; '/' in front of it, so that '*/torch/*' finds torch/ at its start.
create temp table _program_name as
select
    source,
    name,
    sum(count)::bigint as count
from (
    select
        if(kind = 'runtime', 'call', kind) as source,
        if(kind = 'python', '/' || ltrim(split_part(name, '(', 1), '/'), name) as name,
        count
    from (select kind, name, count(*) as count from cpu_slice where kind in ('op', 'annotation', 'python', 'runtime') group by all)
    union all
    select 'domain', category, count(*)
    from cpu_slice
    where kind = 'annotation' and category is not null
    group by category
    union all
    select 'kernel', name, count(*)
    from gpu_slice
    where kind = 'kernel'
    group by name
    union all
    -- nsys lists whatever ran beside the program, too
    select unnest(['process', 'thread']), unnest([process_name, thread_name]), 1
    from thread
    where pid is null or not exists (from gpu_slice where pid is not null) or pid in (select pid from gpu_slice)
    union all
    select 'device', name, 1
    from device
)
where name is not null and name <> ''
group by all;

-- What names show. A pattern is a GLOB: * any text, [0-9] a digit. `why` says who writes such names.
create temp table _program_pattern as
from (values
    ('language', 'python', 'python', '*.py', 'frames of Python'),
    ('language', 'python', 'process', 'python*', 'the interpreter'),
    ('language', 'python', 'thread', 'python*', 'the interpreter: its main thread has its name'),
    ('language', 'python', 'process', 'pytest*', 'a script of Python'),
    ('language', 'python', 'process', 'torchrun*', 'a script of Python'),
    ('language', 'python', 'process', 'VLLM::*', 'vLLM names its processes'),
    ('language', 'python', 'process', 'sglang::*', 'SGLang names its processes'),
    ('language', 'python', 'op', 'aten::*', 'operators are recorded by the profiler or emit_nvtx of Python'),
    ('language', 'python', 'op', 'Torch-Compiled Region*', 'torch.compile'),
    ('language', 'python', 'annotation', 'ProfilerStep#*', 'torch.profiler'),
    ('language', 'python', 'annotation', 'enumerate(DataLoader)#*', 'torch.utils.data'),
    ('language', 'python', 'annotation', 'python_frontend::*', 'nvFuser, called from Python'),
    ('language', 'python', 'kernel', 'cupy_*', 'CuPy'),
    ('language', 'python', 'kernel', 'cudapy::*', 'Numba'),
    ('language', 'python', 'kernel', '*_ZN6cudapy*', 'Numba, mangled'),
    ('language', 'julia', 'kernel', 'julia_*', 'CUDA.jl'),
    ('language', 'julia', 'kernel', '*CuDeviceArray*', 'CUDA.jl'),

    ('framework', 'PyTorch', 'op', 'aten::*', 'its operators'),
    ('framework', 'PyTorch', 'op', 'torch::*', 'its operators'),
    ('framework', 'PyTorch', 'op', 'autograd::engine::*', 'its backward pass'),
    ('framework', 'PyTorch', 'op', 'Torch-Compiled Region*', 'torch.compile'),
    ('framework', 'PyTorch', 'annotation', 'ProfilerStep#*', 'torch.profiler'),
    ('framework', 'PyTorch', 'annotation', 'Optimizer.*#*', 'torch.optim'),
    ('framework', 'PyTorch', 'annotation', 'enumerate(DataLoader)#*', 'torch.utils.data'),
    ('framework', 'PyTorch', 'python', '*/torch/*', 'its files'),
    ('framework', 'PyTorch', 'python', '/nn.Module: *', 'its modules, with_modules=True'),
    ('framework', 'PyTorch', 'kernel', '*at::native::*', 'its own kernels'),
    ('framework', 'PyTorch', 'kernel', '*_ZN2at6native*', 'its own kernels, mangled'),
    ('framework', 'PyTorch', 'kernel', '*at_cuda_detail::*', 'its copy of CUB'),
    ('framework', 'PyTorch', 'thread', 'pt_autograd_[0-9]*', 'its backward threads'),
    ('framework', 'PyTorch', 'thread', 'pt_main_thread*', 'its main thread'),
    ('framework', 'PyTorch', 'thread', 'pt_data_*', 'its loaders'),
    ('framework', 'PyTorch 1', 'python', '*/python3.[0-7]/*', 'PyTorch 2 needs Python 3.8'),
    ('framework', 'PyTorch 1', 'process', '*python3.[0-7]', 'PyTorch 2 needs Python 3.8'),
    ('framework', 'PyTorch 1', 'kernel', '*THC*Tensor*', 'its kernels until 1.10'),
    ('framework', 'PyTorch 1', 'kernel', '*at::native::modern::*', 'its kernels until 1.7'),
    ('framework', 'PyTorch 1', 'kernel', '*at::native::AddFunctor<*', 'its kernels until 1.10'),
    ('framework', 'PyTorch 1', 'op', 'AddmmBackward', 'nodes have numbers since 1.10'),
    ('framework', 'PyTorch 1', 'op', 'CudnnConvolutionBackward', 'nodes have numbers since 1.10'),
    ('framework', 'DDP', 'annotation', 'DistributedDataParallel.*', 'its forward pass'),
    ('framework', 'DDP', 'op', 'torch.distributed.ddp.reducer::*', 'its buckets of gradients'),
    ('framework', 'DDP', 'python', '*/torch/nn/parallel/distributed.py', 'its file'),
    ('framework', 'FSDP', 'annotation', 'FSDP::*', 'its hooks'),
    ('framework', 'FSDP', 'op', 'fsdp::*', 'operators of FSDP2'),
    ('framework', 'FSDP', 'python', '*/torch/distributed/fsdp/*', 'its files'),
    ('framework', 'DeepSpeed', 'annotation', 'DeepSpeed*.*', 'ranges of its engine and optimizers'),
    ('framework', 'DeepSpeed', 'annotation', 'PartitionedParameterCoordinator.*', 'ZeRO stage 3'),
    ('framework', 'DeepSpeed', 'python', '*/deepspeed/*', 'its files'),
    ('framework', 'Megatron', 'python', '*/megatron/*', 'its files'),
    ('framework', 'Megatron', 'op', 'LinearWithGradAccumulationAndAsyncCommunication*', 'its layers'),
    ('framework', 'Megatron', 'op', '*ModelParallelRegion*', 'its tensor parallelism'),
    ('framework', 'Transformer Engine', 'kernel', '*transformer_engine::*', 'its kernels'),
    ('framework', 'Transformer Engine', 'python', '*/transformer_engine/*', 'its files'),
    ('framework', 'Lightning', 'annotation', '[[]pl][[]*', 'its profiler: [pl][profile]...'),
    ('framework', 'Lightning', 'annotation', '[[]Strategy]*', 'its profiler'),
    ('framework', 'Lightning', 'python', '*/pytorch_lightning/*', 'its files'),
    ('framework', 'Lightning', 'python', '*/lightning/pytorch/*', 'its files'),
    ('framework', 'Lightning', 'python', '*/lightning/fabric/*', 'its files'),
    ('framework', 'Hugging Face', 'python', '*/transformers/*.py', 'Transformers'),
    ('framework', 'Hugging Face', 'python', '*/diffusers/*.py', 'Diffusers'),
    ('framework', 'Hugging Face', 'python', '*/accelerate/*.py', 'Accelerate'),
    ('framework', 'TorchRec', 'python', '*/torchrec/*', 'its files'),
    ('framework', 'TorchRec', 'annotation', '## sparse_data_dist ##', 'its pipeline'),
    ('framework', 'TorchRec', 'annotation', '## *Awaitable wait() ##', 'what it waits for'),
    ('framework', 'FBGEMM', 'op', 'fbgemm::*', 'its operators'),
    ('framework', 'FBGEMM', 'kernel', '*fbgemm_gpu::*', 'its kernels'),
    ('framework', 'FBGEMM', 'kernel', '*_ZN10fbgemm_gpu*', 'its kernels, mangled'),
    ('framework', 'nvFuser', 'kernel', '*nvfuser_*', 'its kernels'),
    ('framework', 'nvFuser', 'kernel', 'CudaCodeGen::*', 'its kernels until 2023'),
    ('framework', 'nvFuser', 'annotation', 'FusionExecutorCache::*', 'its executor'),
    ('framework', 'Thunder', 'python', '*/thunder/*', 'its files'),
    ('framework', 'JAX', 'python', '*/jax/_src/*', 'its files'),
    ('framework', 'JAX', 'annotation', 'PjitFunction(*', 'its dispatch'),
    ('framework', 'JAX', 'annotation', '*hlo_module=jit_*', 'what it had XLA compile'),
    ('framework', 'JAX', 'annotation', '*hlo_module=pmap_*', 'what it had XLA compile'),
    ('framework', 'XLA', 'annotation', 'XlaModule:*', 'its modules'),
    ('framework', 'XLA', 'annotation', 'ThunkExecute:*', 'its executor'),
    ('framework', 'XLA', 'annotation', '*:XLA GPU module', 'its programs, as its own profiler notes them'),
    ('framework', 'TensorFlow', 'kernel', '*tensorflow::*', 'its kernels'),
    ('framework', 'TensorFlow', 'kernel', '*Eigen::internal::EigenMetaKernel*', 'its elementwise kernels'),
    ('framework', 'TensorFlow', 'python', '*/tensorflow/*', 'its files'),
    ('framework', 'TensorFlow', 'domain', 'tensorflow*', 'its ranges'),
    ('framework', 'CuPy', 'kernel', 'cupy_*', 'its elementwise kernels and reductions'),
    ('framework', 'CuPy', 'kernel', 'cupyx_*', 'those of its extras'),
    ('framework', 'CuPy', 'python', '*/cupy/*', 'its files'),
    ('framework', 'Numba', 'kernel', 'cudapy::*', 'what it compiles'),
    ('framework', 'Numba', 'kernel', '*_ZN6cudapy*', 'what it compiles, mangled'),
    ('framework', 'cuDF', 'kernel', '*cudf::*', 'its kernels'),
    ('framework', 'cuDF', 'domain', 'libcudf', 'its ranges'),
    ('framework', 'cuDF', 'domain', 'cudf_python', 'its ranges'),
    ('framework', 'cuDF', 'python', '*/cudf/*', 'its files'),
    ('framework', 'RMM', 'domain', 'rmm', 'its ranges'),
    ('framework', 'RMM', 'domain', 'librmm', 'its ranges'),
    ('framework', 'RMM', 'python', '*/rmm/*', 'its files'),
    ('framework', 'CUDA.jl', 'kernel', 'julia_*', 'what it compiles'),
    ('framework', 'CUDA.jl', 'kernel', '*CuDeviceArray*', 'what it compiles'),
    ('framework', 'OpenMP', 'kernel', '__omp_offloading_*', 'LLVM, and compilers made from it: target regions'),
    ('framework', 'OpenMP', 'kernel', 'nvkernel_*_F[0-9]*L[0-9]*', 'the NVIDIA HPC compilers: target regions'),
    ('framework', 'OpenMP', 'kernel', '*_omp_fn$[0-9]*', 'GCC: target regions'),
    ('framework', 'LLVM', 'kernel', '__omp_offloading_*', 'LLVM: target regions'),
    ('framework', 'OpenACC', 'kernel', '*_[0-9]*_gpu', 'the NVIDIA HPC compilers: FUNCTION_LINE_gpu'),
    ('framework', 'OpenACC', 'kernel', '*_[0-9]*_gpu__red', 'the same, its reduction'),
    ('framework', 'Kokkos', 'kernel', '*Kokkos::*', 'its launchers'),
    ('framework', 'RAJA', 'kernel', '*RAJA::*', 'its launchers'),
    ('framework', 'SYCL', 'kernel', '*sycl::*', 'its kernels'),
    ('framework', 'SYCL', 'kernel', '_ZTS*', 'names of types: its kernels'),
    ('framework', 'MPI', 'annotation', 'MPI_*', 'its calls, as nsys and PyTorch note them'),
    ('framework', 'vLLM', 'python', '*/vllm/*', 'its files'),
    ('framework', 'vLLM', 'process', 'VLLM::*', 'it names its processes'),
    ('framework', 'vLLM', 'op', 'vllm::*', 'its operators'),
    ('framework', 'SGLang', 'python', '*/sglang/*', 'its files'),
    ('framework', 'SGLang', 'process', 'sglang::*', 'it names its processes'),
    ('framework', 'TensorRT-LLM', 'python', '*/tensorrt_llm/*', 'its files'),
    ('framework', 'TensorRT', 'domain', 'TensorRT', 'its ranges'),
    ('framework', 'TensorRT', 'op', 'tensorrt::*', 'Torch-TensorRT'),
    ('framework', 'TensorRT', 'kernel', '__myl_*', 'its compiler'),
    ('framework', 'TensorRT', 'kernel', '*nvinfer1::*', 'its kernels'),
    ('framework', 'TensorRT', 'kernel', 'generatedNativePointwise*', 'its compiler'),
    ('framework', 'ONNX Runtime', 'kernel', '*onnxruntime::*', 'its kernels'),

    ('mode', 'compiled', 'kernel', 'triton_poi_*', 'Inductor: pointwise'),
    ('mode', 'compiled', 'kernel', 'triton_red_*', 'Inductor: reduction'),
    ('mode', 'compiled', 'kernel', 'triton_per_*', 'Inductor: persistent reduction'),
    ('mode', 'compiled', 'kernel', 'triton_tem_*', 'Inductor: template'),
    ('mode', 'compiled', 'kernel', 'triton__[0-9]*', 'Inductor of PyTorch 2.0'),
    ('mode', 'compiled', 'kernel', '*nvfuser_*', 'nvFuser'),
    ('mode', 'compiled', 'kernel', 'CudaCodeGen::*', 'nvFuser until 2023'),
    ('mode', 'compiled', 'op', 'Torch-Compiled Region*', 'torch.compile'),
    ('mode', 'compiled', 'op', 'CompiledFunction*', 'AOTAutograd'),
    ('mode', 'compiled', 'annotation', '## Call CompiledFxGraph *', 'Inductor'),
    ('mode', 'compiled', 'annotation', 'PjitFunction(*', 'JAX'),
    ('mode', 'compiled', 'annotation', 'XlaModule:*', 'XLA'),
    ('mode', 'compiled', 'kernel', '__myl_*', 'TensorRT'),
    ('mode', 'cuda_graph', 'call', 'cudaGraphLaunch*', 'CUDA'),
    ('mode', 'cuda_graph', 'call', 'cuGraphLaunch*', 'CUDA'),
    ('mode', 'cuda_graph', 'call', 'hipGraphLaunch*', 'HIP'),
    ('mode', 'cuda_graph', 'call', '*StreamBeginCapture*', 'CUDA, HIP: a graph in the making'),

    ('vendor', 'nvidia', 'call', 'cuda[A-Z]*', 'CUDA runtime'),
    ('vendor', 'nvidia', 'call', 'cu[A-Z]*', 'CUDA driver'),
    ('vendor', 'nvidia', 'kernel', 'nvjet_*', 'cuBLAS'),
    ('vendor', 'nvidia', 'kernel', '*cublasLt*', 'cuBLAS'),
    ('vendor', 'nvidia', 'kernel', '*cudnn*', 'cuDNN'),
    ('vendor', 'nvidia', 'kernel', 'sm[0-9][0-9]_*', 'cuBLAS, cuDNN: its generations'),
    ('vendor', 'nvidia', 'kernel', 'ampere_*gemm*', 'cuBLAS: its generation'),
    ('vendor', 'nvidia', 'kernel', 'maxwell_*gemm*', 'cuBLAS: its generation'),
    ('vendor', 'nvidia', 'kernel', 'turing_*gemm*', 'cuBLAS: its generation'),
    ('vendor', 'nvidia', 'kernel', 'volta_*gemm*', 'cuBLAS: its generation'),
    ('vendor', 'nvidia', 'device', '*NVIDIA*', null),
    ('vendor', 'nvidia', 'device', '*Tesla*', null),
    ('vendor', 'nvidia', 'device', '*Quadro*', null),
    ('vendor', 'nvidia', 'device', '*GeForce*', null),
    ('vendor', 'nvidia', 'device', '*TITAN*', null),
    ('vendor', 'amd', 'call', 'hip[A-Z]*', 'HIP'),
    ('vendor', 'amd', 'kernel', 'Cijk_*', 'Tensile, the matrix products of hipBLASLt'),
    ('vendor', 'amd', 'kernel', '*miopen*', 'MIOpen'),
    ('vendor', 'amd', 'kernel', '*ck_tile::*', 'Composable Kernel'),
    ('vendor', 'amd', 'kernel', '*_ZN7ck_tile*', 'Composable Kernel, mangled'),
    ('vendor', 'amd', 'kernel', 'void ck::*', 'Composable Kernel'),
    ('vendor', 'amd', 'kernel', 'ck::*', 'Composable Kernel'),
    ('vendor', 'amd', 'kernel', '*_ZN2ck*', 'Composable Kernel, mangled'),
    ('vendor', 'amd', 'kernel', '*aiter::*', 'AITER'),
    ('vendor', 'amd', 'kernel', '*_ZN5aiter*', 'AITER, mangled'),
    ('vendor', 'amd', 'kernel', '*rocprim::*', 'rocPRIM'),
    ('vendor', 'amd', 'kernel', '*__hip_bfloat16*', 'HIP'),
    ('vendor', 'amd', 'device', '*AMD*', null),
    ('vendor', 'amd', 'device', '*Radeon*', null),
    ('vendor', 'intel', 'call', 'ze[A-Z]*', 'Level Zero'),
    ('vendor', 'intel', 'device', '*Intel*', null),

    -- operators and ranges of a backward pass or an optimizer: host_name
    ('workload', 'training', 'op', 'RegisterPostBackwardFunction*', 'FSDP waits for gradients'),
    ('workload', 'training', 'annotation', 'DistributedDataParallel.*', 'DDP waits for gradients'),
    ('workload', 'training', 'kernel', '*[bB]ackward*', 'PyTorch: gradients'),
    ('workload', 'training', 'kernel', '*Backward*', 'PyTorch: gradients'),
    ('workload', 'training', 'kernel', '*_bwd_*', 'attention, layers of other makers: gradients'),
    ('workload', 'training', 'kernel', '*wgrad*', 'cuDNN: gradients of weights'),
    ('workload', 'training', 'kernel', '*_wrw_*', 'MIOpen: gradients of weights'),
    ('workload', 'training', 'kernel', '*bn_bw_*', 'cuDNN: gradients of batch normalisation'),
    ('workload', 'training', 'kernel', '*[aA]dam*', 'optimizer'),
    ('workload', 'serving', 'python', '*/vllm/v1/*', 'vLLM: its engine'),
    ('workload', 'serving', 'process', 'VLLM::*', 'vLLM'),
    ('workload', 'serving', 'python', '*/sglang/srt/*', 'SGLang: its runtime'),
    ('workload', 'serving', 'process', 'sglang::*', 'SGLang'),
    ('workload', 'inference', 'domain', 'TensorRT', 'it runs trained models'),
    ('workload', 'inference', 'kernel', '__myl_*', 'TensorRT'),

    -- what is switched on already, so that nobody is told to
    ('feature', 'flash_attention', 'kernel', '*flash_fwd*', 'FlashAttention'),
    ('feature', 'flash_attention', 'kernel', '*flash_bwd*', 'FlashAttention'),
    ('feature', 'flash_attention', 'kernel', '*[fF]lashAttn*', 'FlashAttention 3'),
    ('feature', 'flash_attention', 'kernel', '*fmha*', 'xFormers, cuDNN, CUTLASS, Composable Kernel'),
    ('feature', 'flash_attention', 'kernel', '*cudnn*sdpa*', 'cuDNN'),
    ('feature', 'flash_attention', 'op', 'aten::_flash_attention_*', 'PyTorch'),
    ('feature', 'flash_attention', 'op', 'aten::_efficient_attention_*', 'PyTorch'),
    ('feature', 'flash_attention', 'op', 'flash_attn*', 'FlashAttention'),
    ('feature', 'half_precision', 'kernel', '*bf16*', 'cuBLAS, CUTLASS, hipBLASLt'),
    ('feature', 'half_precision', 'kernel', '*BFloat16*', 'PyTorch'),
    ('feature', 'half_precision', 'kernel', '*c10::Half*', 'PyTorch'),
    ('feature', 'half_precision', 'kernel', '*__nv_bfloat16*', 'CUDA'),
    ('feature', 'half_precision', 'kernel', '*16816*', 'cuBLAS, CUTLASS: tensor cores in 16 bits'),
    ('feature', 'half_precision', 'kernel', '*hgemm*', 'cuBLAS'),
    ('feature', 'foreach_optimizer', 'kernel', '*multi_tensor_apply*', 'PyTorch, Apex: all parameters at once'),
    ('feature', 'fused_optimizer', 'kernel', '*FusedAdam*', 'PyTorch'),
    ('feature', 'fused_optimizer', 'kernel', '*FusedSgd*', 'PyTorch'),
    ('feature', 'fused_optimizer', 'kernel', '*FusedAdagrad*', 'PyTorch'),
    ('feature', 'fused_optimizer', 'op', 'aten::_fused_*', 'PyTorch'),
    ('feature', 'checkpointing', 'op', 'CheckpointFunction*', 'PyTorch: activations are computed again'),
    ('feature', 'checkpointing', 'python', '*/torch/utils/checkpoint.py', 'PyTorch'),
    ('feature', 'expandable_segments', 'call', 'cuMemMap*', 'virtual memory management: what expandable segments call'),
    ('feature', 'expandable_segments', 'call', 'hipMemMap*', 'the same on AMD'),
    ('feature', 'memory_pool', 'call', 'cudaMallocAsync*', 'the driver''s pool'),
    ('feature', 'memory_pool', 'call', 'cudaMallocFromPoolAsync*', 'the driver''s pool'),
    ('feature', 'memory_pool', 'call', 'cuMemAllocAsync*', 'the driver''s pool'),
    ('feature', 'memory_pool', 'call', 'cuMemAllocFromPoolAsync*', 'the driver''s pool'),
    ('feature', 'memory_pool', 'call', 'hipMallocAsync*', 'the driver''s pool'),
    -- conversions to it show that it is the library's choice and not the program's
    ('nhwc', 'any', 'kernel', '*nhwc*', 'cuDNN, CUTLASS'),
    ('conversion', 'any', 'kernel', '*nchwToNhwc*', 'cuDNN'),
    ('conversion', 'any', 'kernel', '*nhwcToNchw*', 'cuDNN'),

    -- no property of its own: some model computes
    ('model', 'any', 'op', 'aten::linear', 'layers'),
    ('model', 'any', 'op', 'aten::*mm', 'matrix products'),
    ('model', 'any', 'op', 'aten::matmul', 'matrix products'),
    ('model', 'any', 'op', 'aten::*conv*', 'convolutions'),
    ('model', 'any', 'op', 'aten::*attention*', 'attention'),
    ('model', 'any', 'kernel', '*[gG]emm*', 'matrix products'),
    ('model', 'any', 'kernel', 'Cijk_*', 'matrix products on AMD'),
    ('model', 'any', 'kernel', 'nvjet_*', 'matrix products of cuBLAS'),
    ('model', 'any', 'kernel', '*cudnn*', 'convolutions'),
    ('model', 'any', 'kernel', '*[fF]lash*', 'attention'),
    ('model', 'any', 'kernel', '*fmha*', 'attention')
) as t (property, value, source, pattern, why);

create temp table _program_shown as
with
serving as (
    select m.dialect, 'annotation' as source, a.name, count(*) as count
    from serving_mark as m
    inner join (
        select slice_id, name from cpu_slice where kind = 'annotation'
        union all
        select slice_id, name from gpu_annotation
    ) as a using (slice_id)
    group by m.dialect, a.name
)

select property, value, n.source, n.name, n.count
from _program_name as n
inner join _program_pattern as p on p.source = n.source and n.name glob p.pattern
union
select 'workload', 'training', n.source, n.name, n.count
from host_name as h
inner join _program_name as n on n.source = h.kind and n.name = h.name
where h.phase in ('backward', 'optimizer')
union
select 'workload', 'serving', source, name, count
from serving
union
select 'framework', t.value, s.source, s.name, s.count
from serving as s
inner join (values
    ('vllm', 'vLLM'), ('sglang', 'SGLang'), ('tensorrt_llm', 'TensorRT-LLM'), ('atom', 'ATOM')
) as t (dialect, value) using (dialect);

create temp macro _shown(of_property, of_value) as exists (from _program_shown where property = of_property and value = of_value);

-- GPU work by the way it got there: in a graph, compiled, or a kernel of PyTorch or CuPy by itself; NULL tells neither.
create temp table _program_work as
with
graph_launch as (
    select slice_id
    from cpu_slice
    where kind = 'runtime' and contains(name, 'GraphLaunch')
),

work as (
    select kind, name, graph_id is not null or kind = 'graph' or coalesce(launch_id in (from graph_launch), false) as is_in_graph, count(*) as count, sum(dur) as dur
    from gpu_slice
    where kind in ('kernel', 'graph')
    group by all
)

select
    if(w.kind = 'graph', 'call', w.kind) as source,
    w.name,
    case
        when w.is_in_graph then 'cuda_graph'
        when bool_or(s.property = 'mode') then 'compiled'
        when bool_or(s.property = 'framework' and s.value in ('PyTorch', 'CuPy')) then 'eager'
    end as mode,
    w.count,
    w.dur
from work as w
left join _program_shown as s on s.source = w.kind and s.name = w.name
group by w.kind, w.name, w.is_in_graph, w.count, w.dur;

insert into _program_shown
select 'mode', mode, source, name, count
from _program_work
where mode = 'cuda_graph'
union all
-- single kernels are eager where they are most of the work: compiled programs have some, too
select 'mode', mode, source, name, count
from _program_work
where
    mode = 'eager'
    -- a kernel that is captured does not run
    and not exists (from _program_name where source = 'call' and contains(name, 'StreamBeginCapture'))
    and (select sum(dur) filter (mode = 'eager') > coalesce(sum(dur) filter (mode <> 'eager'), 0) from _program_work)
union all
-- without a GPU
select 'mode', 'eager', source, name, count
from _program_shown
where
    property = 'framework' and value = 'PyTorch' and source = 'op'
    and not exists (from _program_work) and not exists (from _program_shown where property = 'mode');

-- A kernel with the types of its parameters in its name was compiled from C++; whose it is shows where no framework is in sight.
insert into _program_shown
select property, value, source, name, count
from _program_name
cross join (values
    ('language', 'c++'), ('framework', if(_shown('vendor', 'amd'), 'HIP C++', 'CUDA C++'))
) as t (property, value)
where
    source = 'kernel'
    and ends_with(name, ')')
    and not regexp_matches(name, '(?i)nccl|rccl|cudnn|cublas|cufft|cusparse|cusolver|rocblas|cutlass|gem[mv]|splitk')
    and not exists (
        from _program_shown
        where property = 'language' or value in ('PyTorch', 'TensorFlow', 'XLA', 'TensorRT', 'ONNX Runtime', 'cuDF')
    );

insert into _program_shown
select 'feature', 'channels_last', source, name, count
from _program_shown
where property = 'nhwc' and not _shown('conversion', 'any');

insert into _program_shown
-- layers forward, and nothing of a backward pass, an optimizer or a server anywhere
select 'workload', 'inference', source, name, count
from _program_shown
where property = 'model' and _shown('framework', 'PyTorch') and not exists (from _program_shown where property = 'workload')
union all
-- it computes, and no model
select 'workload', 'batch', source, name, count
from _program_shown
where
    property = 'framework'
    and value in ('CUDA C++', 'HIP C++', 'CuPy', 'Numba', 'cuDF', 'CUDA.jl', 'OpenMP', 'OpenACC', 'Kokkos', 'RAJA', 'SYCL')
    and source <> 'python'
    and not exists (from _program_shown where property in ('workload', 'model'));

delete from _program_shown
where value = 'PyTorch 1' and not exists (from _program_shown where value = 'PyTorch');

insert into program
select
    $trace_id,
    property,
    value,
    first(source || ' ' || name order by count desc, source, name) as evidence,
    sum(count)::bigint as count
from _program_shown
where property not in ('model', 'nhwc', 'conversion')
group by property, value
order by property, sum(count) desc, value;
