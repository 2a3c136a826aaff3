from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def step(trace, start, copies, size, pause=15_000):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("gemm", start + 10_000, 100_000, launched=(start + 1_000, 5_000))
    for number in range(copies):
        ts = start + 150_000 + pause * number
        trace.op("aten::copy_", ts - 12_000, 12_000)
        trace._correlations += 1
        trace.call("cudaMemcpyAsync", ts - 8_000, 5_000, trace._correlations)
        trace.gpu(
            "memcpy",
            "Memcpy HtoD (Pinned -> Device)",
            ts,
            2_000,
            copy_kind="h2d",
            bytes=size,
            correlation_id=trace._correlations,
            src_memory="pinned",
            dst_memory="device",
        )
    trace.kernel("gemm", start + 800_000, 100_000, launched=(start + 790_000, 5_000))


def found(trace):
    """Thirty pieces of metadata, one after the other."""
    for start in STEPS:
        step(trace, start, 30, 512)


def clean_few(trace):
    """Three of them."""
    for start in STEPS:
        step(trace, start, 3, 512)


def clean_large(trace):
    """Thirty large ones."""
    for start in STEPS:
        step(trace, start, 30, 1 << 20)


def cannot_tell(trace):
    """Nothing marks steps."""
    trace.kernel("gemm", 10_000, 100_000, launched=(1_000, 5_000))
    for number in range(20):
        ts = 150_000 + 10_000 * number
        trace.memcpy("h2d", ts, 2_000, launched=(ts - 8_000, 5_000), bytes=100)
