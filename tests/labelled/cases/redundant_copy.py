from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("gemm", start + 451_000, 450_000, launched=(start + 150_000, 5_000))
    trace.call("cudaDeviceSynchronize", start + 160_000, 745_000)


def copy(trace, start, around, dur=300_000):
    trace.op(around, start + 100_000, 40_000)
    trace.op("aten::copy_", start + 102_000, 30_000)
    trace._correlations += 1
    trace.call("cudaMemcpyAsync", start + 110_000, 5_000, trace._correlations)
    trace.gpu(
        "memcpy",
        "Memcpy DtoD (Device -> Device)",
        start + 150_000,
        dur,
        copy_kind="d2d",
        bytes=64 << 20,
        correlation_id=trace._correlations,
        src_memory="device",
        dst_memory="device",
    )


def found(trace):
    """Gradients into DDP's buckets."""
    for start in STEPS:
        step(trace, start)
        copy(trace, start, "torch.distributed.ddp.reducer::copy_bucket_to_view")


def found_clone(trace):
    """x.clone()."""
    for start in STEPS:
        step(trace, start)
        copy(trace, start, "aten::clone")


def clean(trace):
    """The program's own assignment into a tensor."""
    for start in STEPS:
        step(trace, start)
        copy(trace, start, "aten::index_put_")


def clean_hidden(trace):
    """Beside a kernel."""
    for start in STEPS:
        step(trace, start)
        trace.kernel("gemm", start + 140_000, 320_000, launched=(start + 90_000, 5_000), stream=8)
        copy(trace, start, "aten::clone")


def cannot_tell(trace):
    """No operators."""
    for start in STEPS:
        step(trace, start)
        trace.memcpy("d2d", start + 150_000, 100_000, launched=(start + 110_000, 5_000), bytes=64 << 20)
