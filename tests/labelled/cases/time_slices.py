from __future__ import annotations

STEP = 20_000_000
TURNS = {13: 2_200_000, 34: 2_300_000, 47: 2_100_000}


def queue(trace, pauses, names=("gemm", "norm", "gelu", "softmax")):
    """Three steps of 60 kernels of 200 us that are launched at once; before kernel n the GPU pauses for `pauses[n]` ns."""
    for step in range(3):
        start = step * STEP
        trace.annotation(f"ProfilerStep#{step}", start, STEP)
        at = start + 700_000
        for number in range(60):
            at += pauses.get(number, 1_000)
            launched = start + 10_000 + number * 10_000
            trace.gpu("kernel", names[number % len(names)], at, 200_000, (launched, 5_000))
            at += 200_000
        trace.call("cudaDeviceSynchronize", start + 620_000, at - start - 620_000)


def found(trace):
    """Three pauses a step of 2.1 to 2.3 ms, at places that have nothing in common, with work queued."""
    queue(trace, TURNS)


def clean_of_all_lengths(trace):
    """The pauses are as many, and no two are of like length."""
    queue(trace, {13: 1_100_000, 27: 2_200_000, 46: 3_600_000})


def clean_before_one_kernel(trace):
    """Always before the same kernel: that is its own matter."""
    queue(trace, {12: 2_200_000, 24: 2_100_000, 36: 2_300_000})


def clean_host_late(trace):
    """The pauses are as long, and the host is late."""
    for step in range(3):
        start = step * STEP
        trace.annotation(f"ProfilerStep#{step}", start, STEP)
        for number in range(6):
            at = start + 100_000 + number * 2_500_000
            trace.kernel(("gemm", "norm", "gelu")[number % 3], at + 10_000, 200_000, launched=(at, 5_000))


def clean_other_gpu(trace):
    """Another GPU of the program works meanwhile: its result may be waited for."""
    queue(trace, TURNS)
    for step in range(3):
        trace.kernel("part", step * STEP + 700_000, 19_000_000, launched=(step * STEP + 611_000, 5_000), device=1)


def cannot_tell(trace):
    """The launching calls were not traced."""
    for step in range(3):
        trace.kernel("gemm", step * STEP, 300_000)
