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
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("gemm", start + 700_000, 200_000, launched=(start + 50_000, 5_000))


def found(trace):
    """Of two copies of one size one takes four times as long."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 100_000, 100_000, 1 << 20, stream=7, asked=start + 10_000)
        copy(trace, "h2d", start + 201_000, 498_000, 1 << 20, stream=7, asked=start + 20_000)
        trace.call("cudaDeviceSynchronize", start + 60_000, 845_000)


def clean(trace):
    """All alike."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 100_000, 100_000, 1 << 20)
        copy(trace, "h2d", start + 300_000, 110_000, 1 << 20)


def clean_small(trace):
    """Latency and not the link."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 100_000, 50_000, 4096)
        copy(trace, "h2d", start + 300_000, 200_000, 4096)


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
