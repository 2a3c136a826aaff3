from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000, 3_000_000)


def copy(trace, kind, ts, dur, size, call="cudaMemcpyAsync"):
    trace._correlations += 1
    trace.call(call, ts - 10_000, 5_000, trace._correlations)
    memories = {"src_memory": "pinned", "dst_memory": "device"}
    if kind == "d2h":
        memories = {"src_memory": "device", "dst_memory": "pinned"}
    trace.gpu(
        "memcpy", f"Memcpy {kind}", ts, dur, copy_kind=kind, bytes=size, correlation_id=trace._correlations, **memories
    )


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("gemm", start + 100_000, 200_000, launched=(start + 10_000, 5_000))
    trace.kernel("gemm", start + 700_000, 200_000, launched=(start + 640_000, 5_000))


def found(trace):
    """Out, worked on by the host, and back."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 300_000, 100_000, 400_000)
        trace.call("cudaStreamSynchronize", start + 300_000, 102_000)
        trace.op("numpy", start + 404_000, 180_000)
        copy(trace, "h2d", start + 600_000, 100_000, 400_000)
        trace.call("cudaDeviceSynchronize", start + 650_000, 255_000)


def clean_values(trace):
    """A loss goes out and a flag comes in."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 320_000, 50_000, 4)
        copy(trace, "h2d", start + 600_000, 50_000, 4)


def clean_other_data(trace):
    """More comes in of that size than went out."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 250_000, 20_000, 400_000)
        copy(trace, "d2h", start + 320_000, 50_000, 400_000)
        copy(trace, "h2d", start + 600_000, 50_000, 400_000)


def clean_once(trace):
    """In one step out of four."""
    for start in STEPS:
        step(trace, start)
    copy(trace, "d2h", 320_000, 50_000, 400_000)
    copy(trace, "h2d", 600_000, 50_000, 400_000)


def cannot_tell(trace):
    """Nothing marks steps."""
    trace.kernel("gemm", 100_000, 200_000, launched=(10_000, 5_000))
    copy(trace, "d2h", 320_000, 50_000, 400_000)
    copy(trace, "h2d", 600_000, 50_000, 400_000)
