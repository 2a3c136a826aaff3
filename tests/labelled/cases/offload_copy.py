from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def copy(trace, kind, ts, dur, size, stream=20, memory="pinned", asked=None):
    trace._correlations += 1
    trace.call("cudaMemcpyAsync", ts - 10_000 if asked is None else asked, 3_000, trace._correlations)
    host, device = {"h2d": ("src_memory", "dst_memory"), "d2h": ("dst_memory", "src_memory")}[kind]
    trace.gpu(
        "memcpy",
        f"Memcpy {kind}",
        ts,
        dur,
        copy_kind=kind,
        bytes=size,
        stream=stream,
        correlation_id=trace._correlations,
        **{host: memory, device: "device"},
    )


def step(trace, start):
    trace.annotation("ProfilerStep#1", start, 1_000_000)
    trace.annotation("forward", start, 400_000)
    trace.kernel("gemm", start + 20_000, 200_000, launched=(start + 10_000, 5_000))
    trace.annotation("backward", start + 500_000, 400_000)
    trace.kernel("gemm", start + 700_000, 200_000, launched=(start + 690_000, 5_000))


def found(trace):
    """Activations go out in forward and come back in backward, and the GPU waits for both."""
    for start in STEPS:
        trace.annotation("ProfilerStep#1", start, 1_000_000)
        trace.annotation("forward", start, 50_000)
        trace.kernel("gemm", start + 20_000, 200_000, launched=(start + 10_000, 5_000))
        copy(trace, "d2h", start + 221_000, 200_000, 8 << 20, stream=7, asked=start + 20_000)
        trace.annotation("backward", start + 60_000, 900_000)
        copy(trace, "h2d", start + 422_000, 200_000, 8 << 20, stream=7, asked=start + 70_000)
        trace.kernel("gemm", start + 623_000, 300_000, launched=(start + 80_000, 5_000))
        trace.call("cudaDeviceSynchronize", start + 90_000, 840_000)


def clean_hidden(trace):
    """The same beside kernels."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 60_000, 100_000, 8 << 20)
        copy(trace, "h2d", start + 750_000, 100_000, 8 << 20)


def clean_results(trace):
    """Outputs go out, nothing comes back."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 250_000, 100_000, 8 << 20)


def clean_unlike(trace):
    """What comes back is a fraction of what went out."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 250_000, 100_000, 64 << 20)
        copy(trace, "h2d", start + 550_000, 30_000, 2 << 20)


def cannot_tell(trace):
    """Nothing names forward and backward."""
    for start in STEPS:
        trace.annotation("outer", start, 1_000_000)
        trace.kernel("gemm", start + 20_000, 200_000, launched=(start + 10_000, 5_000))
        copy(trace, "d2h", start + 250_000, 100_000, 8 << 20)
        copy(trace, "h2d", start + 550_000, 100_000, 8 << 20)
