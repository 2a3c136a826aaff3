from __future__ import annotations


def _layers(trace, name):
    for step in range(3):
        start = 1_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 1_000_000)
        for layer in range(4):
            called = start + 2_000 + 8_000 * layer
            trace.annotation(f"{name}{layer})", called, 4_000)
            ts = start + 20_000 + 230_000 * layer
            copied = {"bytes": 1 << 22, "src_memory": "pinned", "dst_memory": "device"}
            trace.memcpy("h2d", ts, 200_000, launched=(called + 500, 2_000), **copied)
            trace.kernel("gemm", ts + 201_000, 28_000, launched=(called + 5_000, 2_000))
        trace.call("cudaDeviceSynchronize", start + 40_000, 903_000)


def found(trace):
    """FSDP fetches each layer's parameters from the host."""
    _layers(trace, "FSDP::pre_forward (blocks.")


def clean(trace):
    """The ranges say nothing of parameters."""
    _layers(trace, "batch (")


def cannot_tell(trace):
    """No ranges."""
    trace.memcpy(
        "h2d", 10_000, 200_000, launched=(2_000, 5_000), bytes=1 << 22, src_memory="pinned", dst_memory="device"
    )
    trace.kernel("gemm", 212_000, 10_000, launched=(30_000, 5_000))
