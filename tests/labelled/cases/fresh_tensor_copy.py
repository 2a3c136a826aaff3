from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def to_device(trace, ts, dur=10_000):
    trace.op("aten::to", ts, dur + 90_000)
    trace.op("aten::_to_copy", ts + 1_000, dur + 88_000)
    trace.op("aten::copy_", ts + 10_000, dur + 70_000)
    trace._correlations += 1
    trace.call("cudaMemcpyAsync", ts + 20_000, dur + 20_000, trace._correlations)
    trace.gpu(
        "memcpy",
        "Memcpy HtoD (Pageable -> Device)",
        ts + 25_000,
        dur,
        copy_kind="h2d",
        bytes=40_000,
        correlation_id=trace._correlations,
        src_memory="pageable",
        dst_memory="device",
    )


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("gemm", start + 100_000, 200_000, launched=(start + 10_000, 5_000))
    trace.kernel("gemm", start + 600_000, 200_000, launched=(start + 590_000, 5_000))


def found(trace):
    """torch.zeros(n).to(device)."""
    for start in STEPS:
        step(trace, start)
        trace.op("aten::zeros", start + 400_000, 20_000)
        trace.op("aten::empty", start + 401_000, 2_000)
        trace.op("aten::zero_", start + 405_000, 10_000)
        to_device(trace, start + 430_000, 50_000)


def clean_on_the_gpu(trace):
    """The tensor is made on the GPU; what is copied is something else."""
    for start in STEPS:
        step(trace, start)
        trace.op("aten::zeros", start + 400_000, 20_000)
        trace.op("aten::zero_", start + 405_000, 12_000)
        trace.kernel("fill", start + 418_000, 2_000, launched=(start + 410_000, 5_000))
        to_device(trace, start + 430_000, 50_000)


def clean_much_later(trace):
    """Half a millisecond lies between: it was filled with something."""
    for start in STEPS:
        step(trace, start)
        trace.op("aten::zeros", start + 20_000, 20_000)
        to_device(trace, start + 430_000, 50_000)


def clean_in_another_operator(trace):
    """Made inside an operator, copied outside of it."""
    for start in STEPS:
        step(trace, start)
        trace.op("aten::norm", start + 380_000, 45_000)
        trace.op("aten::zeros", start + 400_000, 20_000)
        to_device(trace, start + 430_000, 50_000)


def cannot_tell(trace):
    """No operators."""
    trace.annotation("outer", 0, 1_000_000)
    trace.memcpy("h2d", 320_000, 100_000, launched=(310_000, 110_000), bytes=1 << 20)
