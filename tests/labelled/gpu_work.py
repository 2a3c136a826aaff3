"""Steps of a GPU that always has something to do: kernels one after another, launched ahead, waited for at the end."""

from __future__ import annotations

import json

NATIVE = "void at::native::"
ELEMENTWISE = (
    NATIVE + "vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"
)
ADD = ELEMENTWISE.format("CUDAFunctor_add<float>")
MUL = ELEMENTWISE.format("BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >")
GELU = ELEMENTWISE.format("GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}")
FILL = ELEMENTWISE.format("FillFunctor<float>")
COPY = (
    NATIVE
    + "elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(int)> >(int)"
)
SOFTMAX = NATIVE + "(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float>(float*, int)"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
GEMM_FP32 = "ampere_sgemm_128x128_tn"
GEMM_TF32 = "cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4"
FLASH = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4> >(Flash_fwd_params)"

_LAUNCH = 1_000
_FIRST = 5_000


def a100(trace):
    _device(trace, "NVIDIA A100-SXM4-80GB", "8.0", 108)


def h100(trace):
    _device(trace, "NVIDIA H100 80GB HBM3", "9.0", 132)


def v100(trace):
    _device(trace, "Tesla V100-SXM2-16GB", "7.0", 80)


def _device(trace, name, capability, multiprocessors):
    trace.add(
        "device",
        device=0,
        name=name,
        compute_capability=capability,
        sm_count=multiprocessors,
        warp_size=32,
        max_threads_per_sm=2048,
        registers_per_sm=65_536,
        shared_memory_per_sm=167_936,
        source="trace",
    )


def shapes(*sizes, dtype="float"):
    """What PyTorch records of an operator's operands; emit_nvtx, without `dtype`, their shapes only."""
    recorded = {"Input type": [dtype] * len(sizes), "Concrete Inputs": [""] * len(sizes)} if dtype else {}
    return json.dumps({"Input Dims": list(sizes)} | recorded)


def kernel(name, dur, operator=None, args=None, **geometry):
    """A kernel to run, with the operators around its launch from the outside in (names), and the innermost one's args."""
    return name, dur, (operator,) if isinstance(operator, str) else operator or (), args, geometry


def run(trace, *works, steps=3):
    """The same kernels in each step, or those of `works` when it is called with a function of the step's number."""
    at = 0
    for number in range(steps):
        works_of_step = works[0](number) if callable(works[0]) else works
        at = step(trace, number, at, works_of_step)


def step(trace, number, at, works):
    start, gpu_at, host_at = at, at + _FIRST, at + 1_000
    for name, dur, operators, args, geometry in works:
        for depth, operator in enumerate(operators):
            innermost = depth == len(operators) - 1
            trace.op(
                operator, host_at + depth, 3 * _LAUNCH - 2 * depth, **({"args": args} if innermost and args else {})
            )
        trace.kernel(name, max(gpu_at, host_at + 2_500), dur, launched=(host_at + 500, _LAUNCH), **geometry)
        gpu_at = max(gpu_at, host_at + 2_500) + dur
        host_at += 3 * _LAUNCH
    trace.call("cudaDeviceSynchronize", host_at, max(gpu_at - host_at, 0) + 1_000)
    end = max(gpu_at, host_at) + 2_000
    trace.annotation(f"ProfilerStep#{number}", start, end - start)
    return end


def run_graph(trace, *works, steps=3):
    """The kernels as a graph: captured before the first step, launched once in each."""
    trace.call("hipStreamBeginCapture", 0, 100)
    host_at = 1_000
    for name, _, operators, args, _ in works:
        for depth, operator in enumerate(operators):
            innermost = depth == len(operators) - 1
            trace.op(
                operator, host_at + depth, 3 * _LAUNCH - 2 * depth, **({"args": args} if innermost and args else {})
            )
        trace.cpu("runtime", "hipLaunchKernel", host_at + 500, _LAUNCH, args=json.dumps({"kernel": name}))
        host_at += 3 * _LAUNCH
    trace.call("hipStreamEndCapture", host_at, 100)
    at = host_at + 5_000
    for number in range(steps):
        trace.call("hipGraphLaunch", at + 1_000, _LAUNCH, 100_000 + number)
        gpu_at = at + _FIRST
        for name, dur, _, _, geometry in works:
            trace.kernel(name, gpu_at, dur, correlation_id=100_000 + number, **geometry)
            gpu_at += dur
        trace.call("cudaDeviceSynchronize", at + 3_000, gpu_at - at)
        end = gpu_at + 5_000
        trace.annotation(f"ProfilerStep#{number}", at, end - at)
        at = end
