from __future__ import annotations

from labelled.gpu_work import ADD, FILL, GEMM, kernel, run

BACKWARD = kernel(GEMM, 300_000, ("AddmmBackward0", "aten::mm"))
ACCUMULATE = kernel(ADD, 10_000, ("torch::autograd::AccumulateGrad", "aten::add_"))


def _zeroing(trace, *works):
    """Four fills in zero_grad at the start of each step, then `works`."""
    for number in range(3):
        start = number * 500_000
        trace.annotation(f"ProfilerStep#{number}", start, 500_000)
        trace.annotation("Optimizer.zero_grad#SGD.zero_grad", start + 1_000, 40_000)
        for index in range(4):
            at = start + 2_000 + index * 9_000
            trace.op("aten::zero_", at, 8_000)
            trace.kernel(FILL, at + 5_000, 4_000, launched=(at + 1_000, 3_000))
        gpu_at, host_at = start + 45_000, start + 42_000
        for name, dur, operators, _, _ in works:
            for depth, operator in enumerate(operators):
                trace.op(operator, host_at + depth, 3_000 - 2 * depth)
            trace.kernel(name, gpu_at, dur, launched=(host_at + 500, 1_000))
            gpu_at, host_at = gpu_at + dur, host_at + 4_000
        trace.call("cudaDeviceSynchronize", host_at, gpu_at - host_at + 1_000)


def found(trace):
    """Fills, waiting for their launches, and as many additions to the zeros."""
    _zeroing(trace, BACKWARD, *[ACCUMULATE] * 4)


def found_memset(trace):
    """Zeroed by memset, and nothing recorded of what adds to it."""
    for number in range(3):
        start = number * 500_000
        trace.annotation(f"ProfilerStep#{number}", start, 500_000)
        trace.annotation("zero_grad", start + 1_000, 10_000)
        trace.gpu("memset", "Memset (Device)", start + 6_000, 50_000, launched=(start + 2_000, 2_000), bytes=1 << 26)
        trace.kernel(GEMM, start + 56_000, 400_000, launched=(start + 20_000, 2_000))
        trace.call("cudaDeviceSynchronize", start + 30_000, 430_000)


def clean(trace):
    """Nothing to zero: gradients are None."""
    for start in (0, 500_000, 1_000_000):
        trace.annotation("Optimizer.zero_grad#SGD.zero_grad", start + 400_000, 30_000)
    run(trace, BACKWARD)


def clean_fills_elsewhere(trace):
    run(trace, kernel(FILL, 50_000, ("aten::zeros", "aten::zero_")), BACKWARD)
    trace.annotation("Optimizer.step#SGD.step", 0, 1_000)


def cannot_tell(trace):
    """No launching calls."""
    trace.kernel(GEMM, 0, 1_000)
