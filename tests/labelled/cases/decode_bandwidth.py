from __future__ import annotations

from labelled.gpu_work import GEMM, a100, shapes

# In fp16 32 MiB of weights, which an A100 reads in 16.5 us, and 4 KiB of keys and values a token
PRODUCT = shapes([8, 4096], [4096, 4096], dtype="c10::Half")
CACHE = "void vllm::reshape_and_cache_flash_kernel<half>(half const*)"
WRITE = shapes([8, 8, 128], [8, 8, 128], [64, 16, 8, 128], [64, 16, 8, 128], dtype="c10::Half")


def name(tokens, requests=8):
    sums = f"sq{requests}sk{tokens}sqsq{requests}sqsk{tokens}"
    return f"execute_context_0(sq0sk0sqsq0sqsk0)_generation_{requests}({sums})"


def serve(trace, dur, tokens=800, args=PRODUCT, steps=4, experts=0):
    """Steps that decode: a product, what writes the cache, experts, and the wait for the tokens."""
    at = 0
    for _ in range(steps):
        trace.annotation(name(tokens), at, dur + experts + 15_000)
        trace.op("aten::mm", at + 1_000, 3_000, **({"args": args} if args else {}))
        trace.kernel(GEMM, at + 5_000, dur, launched=(at + 1_500, 1_000))
        trace.op("_C_cache_ops::reshape_and_cache_flash", at + 5_000, 3_000, args=WRITE)
        trace.kernel(CACHE, at + dur + 6_000, 2_000, launched=(at + 5_500, 1_000))
        if experts:
            trace.kernel("fused_moe_kernel", at + dur + 8_500, experts, launched=(at + 7_000, 1_000))
        trace.call("cudaStreamSynchronize", at + 9_000, dur + experts)
        at += dur + experts + 15_000


def found(trace):
    """85 us for what takes 17 to read."""
    a100(trace)
    serve(trace, 85_000)


def clean_at_the_bandwidth(trace):
    a100(trace)
    serve(trace, 22_000)


def clean_beside_experts(trace):
    """What takes longest are experts, of whose weights nothing is known."""
    a100(trace)
    serve(trace, 22_000, experts=85_000)


def clean_a_long_cache(trace):
    """As slow, but there are 25,000 tokens of keys and values, 100 MB, to read as well."""
    a100(trace)
    serve(trace, 85_000, tokens=25_000)


def clean_no_server(trace):
    a100(trace)
    for number in range(4):
        trace.annotation(f"ProfilerStep#{number}", 100_000 * number, 100_000)
        trace.kernel(GEMM, 100_000 * number + 5_000, 85_000, launched=(100_000 * number + 1_500, 1_000))
        trace.call("cudaStreamSynchronize", 100_000 * number + 9_000, 82_000)


def cannot_tell_without_shapes(trace):
    a100(trace)
    serve(trace, 85_000, args=None)


def cannot_tell_which_gpu(trace):
    serve(trace, 85_000)
