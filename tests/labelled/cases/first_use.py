from __future__ import annotations


def _calls(trace, first):
    trace.call("cudaMalloc", 10_000, first)
    for number in range(5):
        ts = first + 100_000 * (number + 1)
        trace.kernel("gemm", ts + 20_000, 60_000, launched=(ts + 5_000, 5_000))
        trace.call("cudaMalloc", ts + 85_000, 4_000)


def found(trace):
    """The first allocation creates the context."""
    trace.kernel("fill", 2_000, 5_000, launched=(0, 1_000))
    _calls(trace, 5_000_000)


def found_before_the_first_kernel(trace):
    """The program loads libraries, of which nothing is recorded, between a copy and its first kernel."""
    trace.memcpy("h2d", 5_000, 10_000, launched=(0, 2_000))
    for number in range(6):
        ts = 400_000_000 + 100_000 * number
        trace.kernel("gemm", ts + 20_000, 60_000, launched=(ts + 5_000, 5_000))


def found_operator_of_one_execution(trace):
    """Inside an operator that runs once TorchScript compiles."""
    trace.kernel("fill", 20_000, 5_000, launched=(0, 1_000))
    trace.op("scripted", 100_000, 300_000_000)
    trace.kernel("gemm", 299_900_000, 60_000, launched=(299_800_000, 5_000))
    for number in range(5):
        ts = 301_000_000 + 100_000 * number
        trace.op("aten::mm", ts, 20_000)
        trace.kernel("gemm", ts + 20_000, 60_000, launched=(ts + 5_000, 5_000))


def clean(trace):
    """The first allocation takes as long as the others."""
    trace.kernel("fill", 2_000, 5_000, launched=(0, 1_000))
    _calls(trace, 4_000)


def clean_of_steps(trace):
    """Steps recur: those of warm-up are left out."""
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", 10_000_000 * number, 10_000_000)
        trace.kernel("gemm", 10_000_000 * number + 20_000, 60_000, launched=(10_000_000 * number + 5_000, 5_000))
    trace.call("cudaMalloc", 100_000, 5_000_000)


def cannot_tell(trace):
    """No calls were traced."""
    trace.kernel("gemm", 0, 1_000)


def found_two_calls_in_a_gap(trace):
    """Two first calls between two kernels, each of them slow."""
    trace.kernel("fill", 2_000, 5_000, launched=(0, 1_000))
    trace.call("cudaFree", 10_000, 3_000_000)
    trace.call("cudaHostAlloc", 3_015_000, 2_000_000)
    for number in range(5):
        ts = 5_100_000 + 100_000 * number
        trace.kernel("gemm", ts + 20_000, 60_000, launched=(ts + 5_000, 5_000))
