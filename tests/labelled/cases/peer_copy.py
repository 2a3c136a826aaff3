from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("jacobi", start + 500_000, 300_000, launched=(start + 50_000, 5_000))


def copy(trace, ts, dur, asked, stream=7):
    trace._correlations += 1
    trace.call("cudaMemcpyPeerAsync", asked, 5_000, trace._correlations)
    trace.gpu(
        "memcpy",
        "Memcpy PtoP (Device -> Device)",
        ts,
        dur,
        copy_kind="p2p",
        bytes=1 << 20,
        correlation_id=trace._correlations,
        src_device=0,
        dst_device=1,
        stream=stream,
    )


def found(trace):
    """The border is exchanged, then computed with."""
    for start in STEPS:
        step(trace, start)
        copy(trace, start + 120_000, 379_000, start + 30_000)
        trace.call("cudaDeviceSynchronize", start + 60_000, 745_000)


def clean(trace):
    """Beside the inside of the domain."""
    for start in STEPS:
        step(trace, start)
        copy(trace, start + 550_000, 200_000, start + 100_000, stream=20)


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
