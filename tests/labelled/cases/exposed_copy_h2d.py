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
    """Alone on the GPU, with compute after it."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 300_000, 399_000, 8 << 20, stream=7, asked=start + 20_000)
        trace.call("cudaDeviceSynchronize", start + 60_000, 845_000)


def found_turns(trace):
    """Both directions take turns on several streams, and hardly anything is computed."""
    for start in STEPS:
        trace.annotation("outer", start, 1_000_000)
        asked = start + 1_000
        for stream in (13, 14, 15):
            ts = start + 20_000 + 295_500 * (stream - 13)
            copy(trace, "h2d", ts, 150_000, 8 << 20, stream=stream, asked=asked)
            trace.kernel("add", ts + 151_000, 2_000, launched=(asked + 3_000, 2_000), stream=stream)
            copy(trace, "d2h", ts + 154_000, 140_000, 8 << 20, stream=stream, asked=asked + 6_000)
            asked += 10_000
        trace.call("cudaDeviceSynchronize", asked, start + 920_000 - asked)


def clean(trace):
    """Beside a kernel."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 720_000, 150_000, 8 << 20)


def clean_other_way(trace):
    """The other direction."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 300_000, 150_000, 8 << 20)


def clean_without_copies(trace):
    """Nothing is copied."""
    for start in STEPS:
        step(trace, start)


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
