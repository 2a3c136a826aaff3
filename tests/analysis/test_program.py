"""What program a trace is of, by the names in it."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

NATIVE = "kernel void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)"
OWN = "kernel jacobi(float*, float const*, int)"
GEMM = "kernel ampere_sgemm_128x64_tn"

# What is in the trace, one "SOURCE NAME" a line, and what the table says of it.
PROGRAMS = {
    "operators of PyTorch": (
        ["op aten::add"],
        "framework PyTorch, language python, mode eager",
    ),
    "kernels of PyTorch alone": ([NATIVE], "framework PyTorch, mode eager"),
    "a PyTorch that cannot compile": (
        ["process /opt/conda/bin/python3.6", NATIVE],
        "framework PyTorch, framework PyTorch 1, mode eager",
    ),
    "an old kernel": (
        ["kernel void at::native::modern::elementwise_kernel<at::native::AddFunctor>(int)"],
        "framework PyTorch, framework PyTorch 1, mode eager",
    ),
    "an old node of the backward pass": (
        ["op aten::mm", "op AddmmBackward"],
        "framework PyTorch, framework PyTorch 1, language python, mode eager, workload training",
    ),
    "an old Python without PyTorch": (["python /usr/lib/python3.6/json/decoder.py(1): decode"], "language python"),
    "a forward pass": (
        ["process python3.10", NATIVE, GEMM],
        "framework PyTorch, language python, mode eager, vendor nvidia, workload inference",
    ),
    "a backward pass": (
        ["op aten::mm", "op autograd::engine::evaluate_function: MmBackward0"],
        "framework PyTorch, language python, mode eager, workload training",
    ),
    "a kernel of a backward pass": (
        [NATIVE, GEMM, "kernel void cudnn::bn_bw_1C11_kernel_new<float>(float)"],
        "framework PyTorch, mode eager, vendor nvidia, workload training",
    ),
    "an optimizer": (
        ["annotation Optimizer.step#AdamW.step", NATIVE],
        "framework PyTorch, mode eager, workload training",
    ),
    "a forward pass that waits for gradients": (
        ["annotation FSDP::pre_forward (blocks.3)", "op aten::mm", "op RegisterPostBackwardFunction"],
        "framework FSDP, framework PyTorch, language python, mode eager, workload training",
    ),
    "DDP and TorchRec": (
        ["annotation DistributedDataParallel.forward", "annotation ## sparse_data_dist ##", "op aten::mm"],
        "framework DDP, framework PyTorch, framework TorchRec, language python, mode eager, workload training",
    ),
    "compiled by Inductor": (
        ["op Torch-Compiled Region: 0/0", "kernel triton_poi_fused_add_0", "op aten::mm"],
        "framework PyTorch, language python, mode compiled, workload inference",
    ),
    "Triton by hand": (["kernel _attention_kernel"], ""),
    "nvFuser": (
        [
            "process pytest",
            "kernel <unnamed>::nvfuser_pointwise_f0_c1_r0_g0(float)",
            "annotation FusionExecutorCache::run",
        ],
        "framework nvFuser, language python, mode compiled",
    ),
    "Lightning, as its profiler writes": (
        ["annotation [pl][profile][Strategy]SingleDeviceStrategy.training_step", "op aten::add"],
        "framework Lightning, framework PyTorch, language python, mode eager",
    ),
    "Hugging Face": (
        ["python transformers/models/owlv2/modeling_owlv2.py(211): forward", "op aten::linear"],
        "framework Hugging Face, framework PyTorch, language python, mode eager, workload inference",
    ),
    "Megatron": (
        ["python /opt/megatron-lm/megatron/core/transformer/attention.py(1): forward", "op aten::add"],
        "framework Megatron, framework PyTorch, language python, mode eager",
    ),
    "DeepSpeed": (
        ["annotation DeepSpeedEngine.forward", NATIVE],
        "framework DeepSpeed, framework PyTorch, mode eager",
    ),
    "JAX": (
        [
            "annotation XlaModule:#hlo_module=jit_train_step,program_id=7#",
            "kernel loop_add_fusion",
            "call cuLaunchKernel",
        ],
        "framework JAX, framework XLA, mode compiled, vendor nvidia",
    ),
    "TensorFlow": (
        ["kernel void tensorflow::BiasNHWCKernel<float>(int, float const*)"],
        "framework TensorFlow",
    ),
    "CuPy": (
        ["kernel cupy_multiply__float64_float64_float64", "kernel void gemv2T_kernel_val<int, double>(int, double)"],
        "framework CuPy, language python, mode eager, workload batch",
    ),
    "Numba": (
        ["kernel cudapy::__main__::add[abi:v1](Array<float, 1, C, mutable, aligned>)"],
        "framework Numba, language python, workload batch",
    ),
    "cuDF and RMM": (
        ["domain libcudf", "domain librmm", "kernel void cudf::detail::valid_if_kernel<int>(unsigned int*)"],
        "framework cuDF, framework RMM, workload batch",
    ),
    "CUDA C++": (
        [OWN, "call cudaLaunchKernel", "process jacobi"],
        "framework CUDA C++, language c++, vendor nvidia, workload batch",
    ),
    "HIP C++ with MPI": (
        [OWN, "call hipLaunchKernel", "annotation MPI_Send"],
        "framework HIP C++, framework MPI, language c++, vendor amd, workload batch",
    ),
    "C++ that Python calls": ([OWN, "process python"], "language python"),
    "a library's kernel has no program": (["kernel void cutlass::Kernel2<cutlass_80_tensorop>(int)"], ""),
    "a kernel without parameters in its name": (["kernel my_kernel"], ""),
    "Julia": (
        ["kernel julia_broadcast_kernel(CuKernelContext, CuDeviceArray<Float32, 1>)"],
        "framework CUDA.jl, language julia, workload batch",
    ),
    "OpenMP offload": (
        ["kernel __omp_offloading_10303_28bb2a1_main_l27", "kernel nvkernel_main_F1L32_2"],
        "framework LLVM, framework OpenMP, workload batch",
    ),
    "OpenACC": (["kernel main_45_gpu", "kernel main_61_gpu__red"], "framework OpenACC, workload batch"),
    "Kokkos": (
        ["kernel void Kokkos::Impl::cuda_parallel_launch_local_memory<Functor>(Functor)"],
        "framework CUDA C++, framework Kokkos, language c++, workload batch",
    ),
    "vLLM": (
        ["annotation execute_context_0(0)_generation_32(32)", "process VLLM::EngineCore", "op aten::linear"],
        "framework PyTorch, framework vLLM, language python, mode eager, workload serving",
    ),
    "SGLang": (
        ["annotation step[DECODE bs=8]", "op aten::linear"],
        "framework PyTorch, framework SGLang, language python, mode eager, workload serving",
    ),
    "TensorRT": (["domain TensorRT", "kernel __myl_Add_0x1"], "framework TensorRT, mode compiled, workload inference"),
    "GPUs that are listed": (["device Tesla T4"], "vendor nvidia"),
    "GPUs of AMD": (["device AMD Instinct MI300X"], "vendor amd"),
    "kernels that only AMD has": (["kernel void ck::kernel_moe_gemm<ck::GridwiseMoeGemm>(int)"], "vendor amd"),
    "kernels that only NVIDIA has": (["kernel nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT"], "vendor nvidia"),
    "blocks of a loop": (["kernel my_block::step(int)"], "framework CUDA C++, language c++, workload batch"),
    "graphs": (["call cudaGraphLaunch"], "mode cuda_graph, vendor nvidia"),
    "what is switched on": (
        [
            "kernel void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >(Flash_fwd_params)",
            "kernel sm90_xmma_gemm_bf16bf16_bf16f32",
            "kernel void at::native::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor<float> >(int)",
            "call cuMemMap",
            "call cudaMallocAsync_v11020",
        ],
        (
            "feature expandable_segments, feature flash_attention, feature foreach_optimizer, feature fused_optimizer, "
            "feature half_precision, feature memory_pool, framework PyTorch, mode eager, vendor nvidia, workload training"
        ),
    ),
    "NHWC from end to end": (
        ["kernel sm80_xmma_fprop_implicit_gemm_f16_nhwc_cudnn"],
        "feature channels_last, vendor nvidia",
    ),
    "NHWC that the library converts to": (
        ["kernel sm80_xmma_fprop_implicit_gemm_f16_nhwc_cudnn", "kernel void cudnn::nchwToNhwcKernel<float>(int)"],
        "vendor nvidia",
    ),
    "names that say nothing": (["annotation step", "os poll", "process trainer", "thread worker"], ""),
}


def trace_of(lines):
    trace = TraceBuilder()
    for number, line in enumerate(lines):
        source, name = line.split(" ", 1)
        if source == "kernel":
            trace.kernel(name, 10 * number, 5)
        elif source == "call":
            trace.call(name, 10 * number, 5)
        elif source == "domain":
            trace.cpu("annotation", "range", 10 * number, 5, category=name)
        elif source in ("process", "thread"):
            trace.add("thread", thread_id=number, pid=1, tid=number, **{f"{source}_name": name})
        elif source == "device":
            trace.add("device", device=0, name=name, source="trace")
        else:
            trace.cpu(source, name, 10 * number, 5)
    return trace.fill("program")


def describe_program(trace):
    return ", ".join(f"{key} {value}" for key, value in trace.rows("select property, value from program order by all"))


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", PROGRAMS)
def test_program(case):
    lines, expected = PROGRAMS[case]
    assert describe_program(trace_of(lines)) == ", ".join(sorted(expected.split(", ")))


def test_evidence_is_the_most_frequent_name():
    trace = trace_of(["op aten::add", "op aten::mul", "op aten::mul", "op aten::zeros"])
    assert trace.text("select value, evidence, count from program where property = 'framework'") == (
        "PyTorch op aten::mul 4"
    )


def test_only_processes_with_gpu_work_are_the_program():
    trace = TraceBuilder()
    trace.add("thread", thread_id=0, pid=1, tid=1, process_name="solver")
    trace.add("thread", thread_id=1, pid=2, tid=2, process_name="python3")
    trace.call("poll", 0, 10)
    trace.call("poll", 0, 10, thread=1)
    trace.kernel("solve(double*)", 10, 10, pid=1)
    assert describe_program(trace.fill("program")) == ("framework CUDA C++, language c++, workload batch")


def test_a_graph_holds_what_its_launch_caused():
    trace = TraceBuilder()
    trace.call("cudaGraphLaunch", 0, 5, correlation=100)
    for number in range(3):
        trace.kernel(NATIVE.removeprefix("kernel "), 10 + 10 * number, 10, correlation_id=100)
    trace.kernel(NATIVE.removeprefix("kernel "), 50, 10, launched=(45, 5))
    trace.fill("program")
    assert trace.text("select value, count from program where property = 'mode'") == "cuda_graph 4"


def test_what_takes_most_of_the_gpus_time_is_the_mode():
    """Single kernels between compiled ones do not make a program eager; many do."""
    for native, expected in ((10, "compiled"), (1000, "compiled eager")):
        trace = TraceBuilder()
        trace.kernel("triton_poi_fused_add_0", 0, 100)
        trace.kernel(NATIVE.removeprefix("kernel "), 100, native)
        trace.fill("program")
        assert (
            trace.text("select string_agg(value, ' ' order by value) from program where property = 'mode'") == expected
        )


def test_what_is_captured_does_not_run():
    trace = trace_of([NATIVE, "call hipStreamBeginCapture"])
    assert trace.text("select value from program where property = 'mode'") == "cuda_graph"
