from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def copy(trace, kind, ts, dur, size, memory="pageable"):
    """aten::to as PyTorch does it: a call that holds the host until the copy is done."""
    trace.op("aten::to", ts - 30_000, dur + 50_000)
    trace.op("aten::copy_", ts - 25_000, dur + 40_000)
    trace._correlations += 1
    held = dur + 20_000 if memory == "pageable" else 5_000
    trace.call("cudaMemcpyAsync", ts - 10_000, held, trace._correlations)
    host, device = {"h2d": ("src_memory", "dst_memory"), "d2h": ("dst_memory", "src_memory")}[kind]
    trace.gpu(
        "memcpy",
        f"Memcpy {kind}",
        ts,
        dur,
        copy_kind=kind,
        bytes=size,
        correlation_id=trace._correlations,
        **{host: memory, device: "device"},
    )


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("gemm", start + 100_000, 200_000, launched=(start + 10_000, 5_000))
    trace.kernel("gemm", start + 600_000, 200_000, launched=(start + 590_000, 5_000))


def found(trace):
    """An intermediate result is copied to pageable memory."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 320_000, 100_000, 1 << 20)


def found_to_the_device(trace):
    """The same to the device, in the middle of the step."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 320_000, 100_000, 1 << 20)


def clean(trace):
    """Pinned memory."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 320_000, 100_000, 1 << 20, "pinned")


def clean_small(trace):
    """A value is read: another matter."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 320_000, 2_000, 8)


def clean_without_copies(trace):
    """Nothing to copy."""
    for start in STEPS:
        step(trace, start)


def cannot_tell(trace):
    """The kind of memory is not recorded."""
    for start in STEPS:
        step(trace, start)
        trace.memcpy("h2d", start + 320_000, 100_000, launched=(start + 310_000, 110_000), bytes=1 << 20)
