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
    trace.kernel("gemm", start + 20_000, 200_000, launched=(start + 5_000, 5_000))
    trace.kernel("gemm", start + 500_000, 300_000, launched=(start + 50_000, 5_000))


def found(trace):
    """On the stream of the kernels, with kernels after it."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 221_000, 278_000, 8 << 20, stream=7, asked=start + 30_000)
        trace.call("cudaDeviceSynchronize", start + 60_000, 745_000)


def clean_own_stream(trace):
    """Alone, but on a stream of its own: something else is the matter."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 300_000, 150_000, 8 << 20, asked=start + 30_000)


def clean_at_the_end(trace):
    """No compute is left to run beside it."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 820_000, 150_000, 8 << 20, stream=7, asked=start + 60_000)


def clean_pageable(trace):
    """Another stream would not help."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 300_000, 150_000, 8 << 20, stream=7, memory="pageable")


def cannot_tell(trace):
    """The kind of memory is not recorded."""
    for start in STEPS:
        step(trace, start)
        trace.memcpy("h2d", start + 300_000, 150_000, launched=(start + 30_000, 3_000), bytes=8 << 20)
