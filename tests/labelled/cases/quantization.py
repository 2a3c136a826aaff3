from __future__ import annotations

from labelled.gpu_work import GEMM, a100, h100, kernel, run, shapes

# In fp16 32 MiB of weights of 33.7 MB in all, for 8 rows, and 137 GFLOP with 134 MB for 4,096
DECODE = shapes([8, 4096], [4096, 4096], dtype="c10::Half")
PREFILL = shapes([4096, 4096], [4096, 4096], dtype="c10::Half")
MARLIN = "void marlin::Marlin<8l, 256, 1, 8, 8, 4, false, 8>(int4 const*, int4 const*)"
CACHE = "void vllm::reshape_and_cache_flash_kernel<half, half, (vllm::Fp8KVCacheDataType)0>(half const*)"
TOKENS = "execute_context_0(sq0sk0sqsq0sqsk0)_generation_8(sq8sk800sqsq8sqsk800)"
PROMPT = "execute_context_1(sq4096sk4096sqsq16777216sqsk16777216)_generation_0(sq0sk0sqsq0sqsk0)"


def serve(trace, name, dur, args, operator="aten::mm", other=2_000, beside=CACHE):
    """Four steps of a server: a product, another kernel, and the wait for both."""
    for step in range(4):
        at = step * (dur + other + 15_000)
        trace.annotation(name, at, dur + other + 15_000)
        trace.op(operator, at + 1_000, 3_000, **({"args": args} if args else {}))
        trace.kernel(GEMM, at + 5_000, dur, launched=(at + 1_500, 1_000))
        trace.kernel(beside, at + dur + 6_000, other, launched=(at + 5_500, 1_000))
        trace.call("cudaStreamSynchronize", at + 9_000, dur + other)


def found_decode(trace):
    """Reading weights limits 22 of 39 us; half of the bytes are at most half of the time."""
    a100(trace)
    serve(trace, TOKENS, 22_000, DECODE)


def found_prefill(trace):
    """Arithmetic does, and fp8 has twice the peak of fp16 on an H100."""
    h100(trace)
    serve(trace, PROMPT, 250_000, PREFILL)


def found_prefill_int8(trace):
    """An A100 has no fp8, but int8."""
    a100(trace)
    serve(trace, PROMPT, 700_000, PREFILL)


def found_with_bias(trace):
    """The weight comes third."""
    a100(trace)
    serve(trace, TOKENS, 22_000, shapes([4096], [8, 4096], [4096, 4096], dtype="c10::Half"), "aten::addmm")


def clean_training(trace):
    """Weights that are trained stay in 16 bits."""
    a100(trace)
    product = kernel(GEMM, 22_000, "aten::mm", DECODE)
    run(trace, product, kernel("flash_bwd_kernel", 3_000, "autograd::engine::evaluate_function: MmBackward0"))


def clean_quantised(trace):
    """The experts are in 4 bits already, and the rest was left in 16."""
    a100(trace)
    serve(trace, TOKENS, 22_000, DECODE, beside=MARLIN)


def clean_other_work(trace):
    """Products are a twentieth of the step."""
    a100(trace)
    serve(trace, TOKENS, 22_000, DECODE, other=400_000)


def clean_no_faster_type(trace):
    """A V100 has tensor cores for fp16 only, and arithmetic is the limit."""
    trace.add("device", device=0, name="Tesla V100-SXM2-16GB", compute_capability="7.0", sm_count=80, source="trace")
    serve(trace, PROMPT, 1_500_000, PREFILL)


def cannot_tell_without_shapes(trace):
    a100(trace)
    serve(trace, TOKENS, 22_000, None)


def cannot_tell_what_for(trace):
    """Kernels that nothing says are of a model."""
    a100(trace)
    trace.annotation("step", 0, 40_000)
    trace.op("custom::mm", 1_000, 3_000, args=DECODE)
    trace.kernel("my_kernel", 5_000, 30_000, launched=(1_500, 1_000))
